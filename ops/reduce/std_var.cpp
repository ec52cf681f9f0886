// Standard deviations and variances: std, var, std_mean and var_mean.
#include "tandem/ops/reduce/std_var.h"

#include <algorithm>

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/partial_sums.h"

namespace tandem {

TANDEM_CAST_POLICY(none, std, std_mean, var, var_mean);

namespace {
/// Returns x minus its mean. For half types the mean is subtracted in two parts, the rounded mean and its rounding
/// error, which is not negligible if the elements are nearly equal.
Tensor deviations(const Tensor& x, IntArrayRef dims, int64_t count) {
  if (!is_reduced_floating_point(x.dtype())) return x - x.mean(dims, true);
  const Tensor mean = sum_with_dtype(x, dims, true, kFloat32) / static_cast<double>(count),
               rounded = mean.to(x.dtype());
  return x - rounded - (mean - rounded).to(x.dtype());
}
/// On CUDA, computes the variance or its square root in one pass over x. Returns an undefined tensor if the kernel
/// cannot take the layout of the dims.
Tensor std_or_var_fused(const char* op, const Tensor& x, IntArrayRef dims, double divisor, bool take_sqrt,
                        bool keepdim) {
  const ChannelDims c(op, x, dims);
  if (!c.x.defined()) return {};
  Tensor flat = core::empty({c.x.size(1)}, detail::accumulate_type(x.dtype()), x.device());
  TANDEM_DISPATCH_CUDA(x.device(), channel_var, c.x, divisor, take_sqrt, flat);
  return c.restore_result_shape(flat, keepdim);
}
/// Returns the variance, or its square root, which is taken before rounding.
Tensor std_or_var(const char* op, const Tensor& x, IntArrayRef dims, double correction, bool take_sqrt, bool keepdim) {
  const OpSpan span(op);
  TANDEM_CHECK_AS(NotImplementedError, x.is_floating_point(), op,
                  ": std and var only support floating point and complex dtypes, got ", x.dtype());
  const unsigned mask = make_dim_mask(op, dims, x.dim());
  const int64_t count = num_reduced_elements(x.sizes(), mask);
  const double divisor = std::max(static_cast<double>(count) - correction, 0.0);
  Tensor y;
  {
    const NoGradGuard guard;
    if (x.is_cuda()) y = std_or_var_fused(op, x, dims, divisor, take_sqrt, keepdim);
    if (!y.defined()) {
      const ReducedDims r(op, x, dims);
      const Tensor variance = sum_of_squares(r, /*about_mean=*/true).div_(divisor);
      y = r.restore_result_shape((take_sqrt ? variance.sqrt() : variance).to(detail::accumulate_type(x.dtype())),
                                 keepdim);
    }
  }
  const auto backward = [dims = Shape(dims), keepdim_sizes = get_keepdim_sizes(x.sizes(), mask), count, divisor,
                         take_sqrt](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    Tensor scaled_grad = dy * (2 / divisor);
    if (take_sqrt) {  // where y is 0, the derivative of sqrt is infinite; as in PyTorch, the gradient there is 0
      const Tensor y = ctx.saved(1), flat = y == 0;
      scaled_grad = tandem::where(flat, Scalar(0), scaled_grad) / tandem::where(flat, Scalar(1), y * 2);
    }
    return {reshape_to_keepdim(scaled_grad, keepdim_sizes).to(x.dtype()) * deviations(x, dims, count)};
  };
  const Tensor saved = take_sqrt ? y : Tensor();
  return record_op(op, y, {x}, {x, saved}, backward).to(x.dtype());
}
}  // namespace
Tensor Tensor::var(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return std_or_var("var", *this, dims, unbiased ? 1 : 0, /*take_sqrt=*/false, keepdim);
}
Tensor detail::corrected_var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return std_or_var("var", x, dims, correction.value_or(1).to<double>(), /*take_sqrt=*/false, keepdim);
}
Tensor Tensor::std(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return std_or_var("std", *this, dims, unbiased ? 1 : 0, /*take_sqrt=*/true, keepdim);
}
Tensor detail::corrected_std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return std_or_var("std", x, dims, correction.value_or(1).to<double>(), /*take_sqrt=*/true, keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims, Flag unbiased, Flag keepdim) {
  return {x.std(dims, unbiased, keepdim), x.mean(dims, keepdim)};
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims, Flag unbiased, Flag keepdim) {
  return {x.var(dims, unbiased, keepdim), x.mean(dims, keepdim)};
}

}  // namespace tandem
