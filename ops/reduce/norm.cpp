// p-norms: norm and norm_backward; renorm and renorm_, which scale slices down to a maximum norm.
#include "tandem/ops/reduce/norm.h"

#include <cmath>

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/partial_sums.h"

namespace tandem {

Tensor norm_backward(double p, const Tensor& wide_dy, const Tensor& x, const Tensor& wide_y) {
  if (p == 2 && is_half(x.dtype())) {  // the small tensors alone are float32
    const Tensor flat = wide_y == 0, slope = wide_dy / tandem::where(flat, Scalar(1), wide_y);
    return x * slope.masked_fill(flat, 0).to(x.dtype());
  }
  const Tensor dy = wide_dy.to(x.dtype()), y = wide_y.to(x.dtype());
  if (p == 1) return x.sign() * dy;
  if (p == 2) {
    const Tensor flat = y == 0;
    return dy * (x / tandem::where(flat, Scalar(1), y)).masked_fill(flat, 0);
  }
  if (std::isinf(p)) {  // the largest or smallest share it evenly, NaNs among themselves
    const Tensor size = x.abs(), hit = ((size == y) | (size.isnan() & y.isnan())).to(dy.dtype());
    return x.sign() * hit * (dy / sum_to_size(hit, y.sizes()));
  }
  // Raises x / y to the power: powers of x and of y may overflow.
  const Tensor usual = y.isfinite() & (y != 0), part = x / tandem::where(usual, y, Scalar(1));
  Tensor slope = x.sign() * part.abs().pow(p - 1);
  if (p < 1) slope = tandem::where(x == 0, Scalar(0), slope);
  const Tensor whole = tandem::where(usual, Scalar(1), y);
  return slope * tandem::where(y == 0, Scalar(0), dy / whole.pow(p - 1));
}
namespace {
/// (sum |x|^p)^(1/p) without history. |x| is divided by its largest element first, for p < 0 by its smallest.
Tensor norm_by_powers(const Tensor& x, double p, IntArrayRef dims, bool keepdim) {
  const ReducedDims r("norm", x, dims);
  if (r.count == 0) return r.restore(r.flat_output(kFloat64).zero_(), keepdim);
  const Tensor size = r.x.abs();
  Tensor scale = p > 0 ? size.amax(1) : size.amin(1), flat = r.flat_output(kFloat64);
  scale = tandem::where(scale.isfinite() & (scale != 0), scale, Scalar(1)).to(detail::accumulate_type(x.dtype()));
  TANDEM_DISPATCH(x.device(), sum_of_powers, r.x, scale, p, flat);
  return r.restore(flat.pow(1 / p) * scale, keepdim);
}
/// The norm without history, of a half type as float32.
Tensor norm_of(const Tensor& x, double p, IntArrayRef dims, bool keepdim) {
  const NoGradGuard guard;
  if (p == 0) return (x != 0).to(x.dtype()).sum(dims, keepdim);  // how many are not zero
  if (p == 1) return x.abs().sum(dims, keepdim);
  if (std::isinf(p)) return p > 0 ? x.abs().amax(dims, keepdim) : x.abs().amin(dims, keepdim);
  if (p != 2) return norm_by_powers(x, p, dims, keepdim);
  const ReducedDims r("norm", x, dims);
  return r.restore(sum_of_squares(r, /*about_mean=*/false).sqrt(), keepdim);
}
}  // namespace
Tensor Tensor::norm(double p) const { return norm(p, IntArrayRef()); }
Tensor Tensor::norm(double p, IntArrayRef dims, Flag keepdim) const {
  TANDEM_CHECK_AS(NotImplementedError, is_floating_point(), "norm: dtype is ", dtype(), "; accepted: floating point");
  const unsigned mask = dim_mask("norm", dims, dim());
  const Shape kept = kept_sizes(sizes(), mask);
  TANDEM_CHECK(reduced_count(sizes(), mask) > 0 || (p >= 0 && !std::isinf(p)), "norm: ", sizes(), " over ", dims,
               " has no elements, so that there is no norm with p = ", p, "; accepted: a finite p of 0 or more");
  const Tensor y = norm_of(*this, p, dims, keepdim).to(detail::accumulate_type(dtype()));
  return record("norm", y, {*this}, {*this, y},
                [p, kept](const Context& ctx, const Tensor& dy) -> Grads {
                  if (p == 0) return {Tensor()};
                  return {norm_backward(p, with_dims(dy, kept), ctx.saved(0), with_dims(ctx.saved(1), kept))};
                })
      .to(dtype());
}

Tensor Tensor::renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  check_accepted("renorm", Accepts::real, dtype());
  TANDEM_CHECK(this->dim() >= 2 && p.to_double() > 0 && maxnorm.to_double() >= 0, "renorm: x is ", sizes(), ", p ", p,
               " and maxnorm ", maxnorm, "; accepted: two dimensions or more, p > 0 and maxnorm >= 0");
  if (is_half(dtype())) return to(kFloat32).renorm(p, dim, maxnorm).to(dtype());
  const int64_t d = wrap_dim("renorm", dim, this->dim());
  std::vector<int64_t> others;
  for (int64_t k = 0; k < this->dim(); ++k)
    if (k != d) others.push_back(k);
  const Tensor lengths = detach().norm(p.to_double(), others, true), over = lengths > maxnorm;
  // The recorded norm leaves out the slices that are not shortened: a NaN among them would make the gradient NaN.
  const Tensor length = autograd::any_wants_grad({*this})
                            ? tandem::where(over, *this, Scalar(0)).norm(p.to_double(), others, true)
                            : lengths;
  const Tensor scale = tandem::where(over, maxnorm.to_double() / (length + 1e-7), 1.0);
  return contiguous() * scale;
}
Tensor& Tensor::renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return autograd::inplace(
      "renorm_", self(), {}, [&] { copy_elements(detach().renorm(p, dim, maxnorm), self()); },
      [&](const Tensor& old) { return old.clone().renorm(p, dim, maxnorm); });
}

}  // namespace tandem
