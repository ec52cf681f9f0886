// Normalisation of floating dtypes, contiguous. What there is one of for each row or channel (statistics, weight, bias
// and their gradients) is float32 beside half types; on the CPU layer_norm takes weight and bias of the half type too,
// and its backward the weight.
#pragma once
#include <span>

#include "tandem/kernels/declare.h"
#include "tandem/kernels/implementation.h"

/// x (N, C, L), of which (rows, C, 1) are channels-last images too: mean and 1 / sqrt(var + eps) of each channel; var
/// is returned too
TANDEM_KERNEL(void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd))
/// y = (x - mean) * rstd * weight + bias; weight and bias may be undefined
TANDEM_KERNEL(void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                    const Tensor& bias, Tensor& y))
/// sum_dy = sum dy, sum_dy_xhat = sum dy (x - mean) rstd; dx of training mode, or of evaluation mode
TANDEM_KERNEL(void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                       const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat,
                                       Tensor& dx))
namespace tandem::kernels::cpu {
/// One way to compute the three kernels above.
struct BatchNormKernels {
  decltype(batch_norm_stats)* stats;
  decltype(batch_norm_apply)* apply;
  decltype(batch_norm_backward)* backward;
};
/// The implementations that they choose from, by x, in order.
std::span<const Implementation<const BatchNormKernels*, Tensor>> batch_norm_implementations();
}  // namespace tandem::kernels::cpu
namespace tandem::kernels::cuda {
/// batch_norm_stats, which moves the running statistics too: (1 - momentum) of what they were plus momentum times the
/// batch's mean, or its unbiased variance. They are of mean's dtype. batches, an int64 or undefined, becomes one more.
void batch_norm_update_stats(const Tensor& x, double eps, double momentum, Tensor& running_mean, Tensor& running_var,
                             Tensor& batches, Tensor& mean, Tensor& var, Tensor& rstd);
/// batch_norm_apply with rstd = 1 / sqrt(var + eps)
void batch_norm_evaluate(const Tensor& x, const Tensor& mean, const Tensor& var, double eps, const Tensor& weight,
                         const Tensor& bias, Tensor& y);
}  // namespace tandem::kernels::cuda
/// y = max_pool2d(relu(batch_norm_apply(x))) by windows of (kernel_h, kernel_w) that lie side by side; chosen: of which
/// pixel of its window an element is, row by row, or 255 where it is not above 0. float32 and uint8, all (N, C, H, W)
/// and channels-last. A window has at most 250 pixels.
TANDEM_CPU_KERNEL(norm_relu_pool, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                  const Tensor& bias, int64_t kernel_h, int64_t kernel_w, Tensor& y, Tensor& chosen)
/// sum_dy, sum_dy_xhat and dx as of batch_norm_backward, from the gradient of y
TANDEM_CPU_KERNEL(norm_relu_pool_backward, const Tensor& dy, const Tensor& chosen, const Tensor& x, const Tensor& mean,
                  const Tensor& rstd, const Tensor& weight, bool training, int64_t kernel_h, int64_t kernel_w,
                  Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx)
namespace tandem::kernels {
/// Whether norm_relu_pool serves x, as far as its windows fit.
inline bool has_norm_relu_pool(const Tensor& x) {
  return x.is_cpu() && x.dtype() == kFloat32 && x.dim() == 4 && x.numel() > 0 && !x.is_contiguous() &&
         x.suggest_memory_format() == MemoryFormat::ChannelsLast;
}
}  // namespace tandem::kernels
/// x (rows, n)
TANDEM_KERNEL(void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y,
                              Tensor& mean, Tensor& rstd))
/// dweight and dbias (n) where they are defined
TANDEM_KERNEL(void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                       const Tensor& weight, Tensor& dx, Tensor& dweight, Tensor& dbias))
