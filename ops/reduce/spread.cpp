// Spreads and sizes of elements: variances, standard deviations and norms.
#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {
namespace {
/// x minus its mean. A half type's mean is subtracted in two parts, the rounded mean and its rounding error: beside
/// elements of nearly one size the second is not small.
Tensor deviations(const Tensor& x, IntArrayRef dims, int64_t count) {
  if (!is_half(x.dtype())) return x - x.mean(dims, true);
  const Tensor mean = sum_as(x, dims, true, kFloat32) / static_cast<double>(count), rounded = mean.to(x.dtype());
  return x - rounded - (mean - rounded).to(x.dtype());
}
/// The sum of squares, or of squared deviations from the mean, in float64 and without history.
Tensor sum_of_squares(const ReducedDims& r, bool about_mean) {
  Tensor center, flat = r.flat_output(kFloat64);
  if (about_mean) {
    Tensor total = r.flat_output(is_half(r.x.dtype()) ? kFloat32 : kFloat64);
    TANDEM_DISPATCH(r.x.device(), sum, r.x, total);
    center = total.to(kFloat64).div_(static_cast<double>(r.count));
  }
  TANDEM_DISPATCH(r.x.device(), sum_of_squares_about, r.x, center, flat);
  return flat;
}
/// On CUDA, in one read of x. Undefined where the dims do not lie as the kernel needs it.
Tensor spread_at_once(const char* op, const Tensor& x, IntArrayRef dims, double divisor, bool root, bool keepdim) {
  const ChannelDims c(op, x, dims);
  if (!c.x.defined()) return {};
  Tensor flat = core::empty({c.x.size(1)}, detail::accumulate_type(x.dtype()), x.device());
  TANDEM_DISPATCH_CUDA(x.device(), channel_var, c.x, divisor, root, flat);
  return c.restore(flat, keepdim);
}
/// The variance, or its root, which is taken before the variance is rounded.
Tensor spread(const char* op, const Tensor& x, IntArrayRef dims, double correction, bool root, bool keepdim) {
  check_average(op, x, dims);
  const unsigned mask = dim_mask(op, dims, x.dim());
  const int64_t count = reduced_count(x.sizes(), mask);
  const double divisor = std::max(static_cast<double>(count) - correction, 0.0);
  Tensor y;
  {
    const NoGradGuard guard;
    if (x.is_cuda()) y = spread_at_once(op, x, dims, divisor, root, keepdim);
    if (!y.defined()) {
      const ReducedDims r(op, x, dims);
      const Tensor variance = sum_of_squares(r, /*about_mean=*/true).div_(divisor);
      y = r.restore((root ? variance.sqrt() : variance).to(detail::accumulate_type(x.dtype())), keepdim);
    }
  }
  const auto backward = [dims = Shape(dims), kept = kept_sizes(x.sizes(), mask), count, divisor, root](
                            const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    Tensor slope = dy * (2 / divisor);
    if (root) {  // at 0 the slope is infinite; PyTorch takes the subgradient 0 there
      const Tensor y = ctx.saved(1), flat = y == 0;
      slope = tandem::where(flat, Scalar(0), slope) / tandem::where(flat, Scalar(1), y * 2);
    }
    return {with_dims(slope, kept).to(x.dtype()) * deviations(x, dims, count)};
  };
  const Tensor saved = root ? y : Tensor();
  return record(op, y, {x}, {x, saved}, backward).to(x.dtype());
}
}  // namespace
Tensor Tensor::var(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return spread("var", *this, dims, unbiased ? 1 : 0, /*root=*/false, keepdim);
}
Tensor detail::corrected_var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return spread("var", x, dims, correction.value_or(1).to<double>(), /*root=*/false, keepdim);
}
Tensor Tensor::std(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return spread("std", *this, dims, unbiased ? 1 : 0, /*root=*/true, keepdim);
}
Tensor detail::corrected_std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return spread("std", x, dims, correction.value_or(1).to<double>(), /*root=*/true, keepdim);
}
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
Tensor root_mean_square(const Tensor& x, IntArrayRef dims, double eps) {
  Tensor y;
  const ReducedDims r("root_mean_square", x, dims);
  const double count = static_cast<double>(r.count);
  {
    const NoGradGuard guard;
    y = (sum_of_squares(r, /*about_mean=*/false) / count + eps).sqrt();
    y = r.restore(y, /*keepdim=*/true).to(detail::accumulate_type(x.dtype()));
  }
  return record("root_mean_square", y, {x}, {x, y}, [count](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {(x / ctx.saved(1) * (dy / count)).to(x.dtype())};
  });
}
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

}  // namespace tandem
