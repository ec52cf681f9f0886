// Spreads and sizes of elements: variances, standard deviations and norms.
#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/reduced_dims.h"

namespace tandem {
namespace {
/// What a half type's elements differ from their mean. The mean is taken away in two parts, itself and what rounding it
/// left: beside elements of nearly one size the second is not small.
Tensor deviations(const Tensor& x, IntArrayRef dims, int64_t count) {
  const Tensor mean = sum_as(x, dims, true, kFloat32) / static_cast<double>(count), rounded = mean.to(x.dtype());
  return x - rounded - (mean - rounded).to(x.dtype());
}
/// The sum of a half type's squares, or of the squares of what its elements differ from their mean: in float32, as
/// squares soon do not fit float16.
Tensor sum_of_squares(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, bool about_mean) {
  const ReducedDims r(op, x, dims);
  Tensor center, flat = r.flat_output(kFloat32);
  if (about_mean) {
    center = r.flat_output(kFloat32);
    TANDEM_DISPATCH(x.device(), sum, r.x, center);
    center.div_(static_cast<double>(r.count));
  }
  TANDEM_DISPATCH(x.device(), sum_of_powers, r.x, center, 2.0, flat);
  return record(
      op, r.restore(flat, keepdim), {x}, {x},
      [dims = Shape(dims), kept = r.kept, count = r.count, about_mean](const Context& ctx, const Tensor& dy) -> Grads {
        const Tensor x = ctx.saved(0), off = about_mean ? deviations(x, dims, count) : x;
        return {off * (with_dims(dy, kept) * 2).to(x.dtype())};
      });
}
/// On CUDA, in one read of x. Undefined where the dims do not lie as the kernel needs it.
Tensor variance_at_once(const char* op, const Tensor& x, IntArrayRef dims, int64_t count, double divisor,
                        bool keepdim) {
  const ChannelDims c(op, x, dims);
  if (!c.x.defined()) return {};
  Tensor flat = core::empty({c.x.size(1)}, is_half(x.dtype()) ? kFloat32 : x.dtype(), x.device());
  TANDEM_DISPATCH_CUDA(x.device(), channel_var, c.x, divisor, flat);
  return record(op, c.restore(flat, keepdim), {x}, {x},
                [dims = Shape(dims), kept = c.kept, count, divisor](const Context& ctx, const Tensor& dy) -> Grads {
                  const Tensor x = ctx.saved(0);
                  const Tensor off = is_half(x.dtype()) ? deviations(x, dims, count) : x - x.mean(dims, true);
                  return {off * (with_dims(dy, kept) * (2 / divisor)).to(x.dtype())};
                });
}
/// Of a half type as float32, which the caller rounds.
Tensor variance(const char* op, const Tensor& x, IntArrayRef dims, double correction, bool keepdim) {
  check_average(op, x, dims);
  const int64_t reduced = reduced_count(x.sizes(), dim_mask(op, dims, x.dim()));
  const double count = static_cast<double>(reduced);
  if (x.is_cuda()) {
    const Tensor y = variance_at_once(op, x, dims, reduced, std::max(count - correction, 0.0), keepdim);
    if (y.defined()) return y;
  }
  const Tensor squares = is_half(x.dtype()) ? sum_of_squares(op, x, dims, keepdim, true)
                                            : (x - x.mean(dims, true)).square().sum(dims, keepdim);
  return squares / std::max(count - correction, 0.0);
}
}  // namespace
Tensor Tensor::var(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return variance("var", *this, dims, unbiased ? 1 : 0, keepdim).to(dtype());
}
Tensor detail::corrected_var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return variance("var", x, dims, correction.value_or(1).to<double>(), keepdim).to(x.dtype());
}
namespace {
/// The root of a sum of squares. Its slope at zero is infinite; PyTorch takes the subgradient 0 there.
Tensor root(const char* op, const Tensor& total) {
  const Tensor y = total.detach().sqrt();
  return record(op, y, {total}, {y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor y = ctx.saved(0), flat = y == 0;
    return {tandem::where(flat, Scalar(0), dy) / tandem::where(flat, Scalar(1), y * 2)};
  });
}
}  // namespace
Tensor norm_backward(double p, const Tensor& dy, const Tensor& x, const Tensor& y) {
  if (p == 1) return x.sign() * dy;
  if (p == 2) return dy * (x / y).masked_fill(y == 0, 0);
  const Tensor size = x.abs();
  if (std::isinf(p)) {  // the largest or smallest share it evenly, NaNs among themselves
    const Tensor hit = ((size == y) | (size.isnan() & y.isnan())).to(dy.dtype());
    return x.sign() * hit * (dy / sum_to_size(hit, y.sizes()));
  }
  Tensor whole = y, part = size;
  if (is_half(x.dtype())) {  // powers overflow, but not those of parts of the whole
    const Tensor usual = y.isfinite() & (y != 0);
    part = size / tandem::where(usual, y, Scalar(1));
    whole = tandem::where(usual, Scalar(1), y);
  }
  Tensor slope = x.sign() * part.pow(p - 1);
  if (p < 1) slope = tandem::where(x == 0, Scalar(0), slope);
  return slope * tandem::where(y == 0, Scalar(0), dy / whole.pow(p - 1));
}
namespace {
/// sum |x|^p of a half type, in float32 and without history.
Tensor sum_of_powers(const Tensor& x, double p, IntArrayRef dims, bool keepdim) {
  const ReducedDims r("norm", x, dims);
  Tensor flat = r.flat_output(kFloat32);
  TANDEM_DISPATCH(x.device(), sum_of_powers, r.x, Tensor(), p, flat);
  return r.restore(flat, keepdim);
}
}  // namespace
Tensor Tensor::std(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return root("std", variance("std", *this, dims, unbiased ? 1 : 0, keepdim)).to(dtype());
}
Tensor detail::corrected_std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return root("std", variance("std", x, dims, correction.value_or(1).to<double>(), keepdim)).to(x.dtype());
}
Tensor Tensor::norm(double p) const { return norm(p, IntArrayRef()); }
Tensor Tensor::norm(double p, IntArrayRef dims, Flag keepdim) const {
  TANDEM_CHECK_AS(NotImplementedError, is_floating_point(), "norm: dtype is ", dtype(), "; accepted: floating point");
  const unsigned mask = dim_mask("norm", dims, dim());
  const Shape kept = kept_sizes(sizes(), mask);
  TANDEM_CHECK(reduced_count(sizes(), mask) > 0 || (p >= 0 && !std::isinf(p)), "norm: ", sizes(), " over ", dims,
               " has no elements, so that there is no norm with p = ", p, "; accepted: a finite p of 0 or more");
  const bool half = is_half(dtype());
  if (p == 2)
    return root("norm", half ? sum_of_squares("norm", *this, dims, keepdim, false) : square().sum(dims, keepdim))
        .to(dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor size = abs();
    if (p == 0)  // how many are not zero: without a gradient, as in PyTorch
      y = (*this != 0).to(size.dtype()).sum(dims, keepdim);
    else if (p == 1)
      y = size.sum(dims, keepdim);
    else if (std::isinf(p))
      y = p > 0 ? size.amax(dims, keepdim) : size.amin(dims, keepdim);
    else if (half)
      y = sum_of_powers(*this, p, dims, keepdim).pow(1 / p).to(dtype());
    else
      y = size.pow(p).sum(dims, keepdim).pow(1 / p);
  }
  return record("norm", y, {*this}, {*this, y}, [p, kept](const Context& ctx, const Tensor& dy) -> Grads {
    if (p == 0) return {Tensor()};
    return {norm_backward(p, with_dims(dy, kept), ctx.saved(0), with_dims(ctx.saved(1), kept))};
  });
}

}  // namespace tandem
