// Normalisation of contiguous tensors of floating dtypes. If x has a half type, tensors with one number per row or
// channel (statistics, weight, bias and their gradients) are float32. On the CPU, layer_norm also accepts a weight and
// a bias of the half type, and layer_norm_backward such a weight.
#pragma once
#include <span>

#include "tandem/kernels/declare.h"
#include "tandem/kernels/implementation.h"

/// Computes mean, var and rstd = 1 / sqrt(var + eps) of each channel of x (N, C, L). Channels-last images are passed as
/// (rows, C, 1)
TANDEM_DECLARE_KERNEL(void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd))
/// Computes y = (x - mean) * rstd * weight + bias; weight and bias may be undefined
TANDEM_DECLARE_KERNEL(void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                            const Tensor& weight, const Tensor& bias, Tensor& y))
/// Computes sum_dy = sum dy, sum_dy_xhat = sum dy (x - mean) rstd, and dx, the gradient with respect to x: in training
/// mode if `training`, otherwise in evaluation mode
TANDEM_DECLARE_KERNEL(void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean,
                                               const Tensor& rstd, const Tensor& weight, bool training, Tensor& sum_dy,
                                               Tensor& sum_dy_xhat, Tensor& dx))
namespace tandem::kernels::cpu {
/// Pointers to one implementation of batch_norm_stats, batch_norm_apply and batch_norm_backward.
struct BatchNormKernels {
  decltype(batch_norm_stats)* stats;
  decltype(batch_norm_apply)* apply;
  decltype(batch_norm_backward)* backward;
};
/// Returns the implementations that the batch-norm kernels choose from, depending on x, in the order in which they are
/// tried.
std::span<const Implementation<const BatchNormKernels*, Tensor>> batch_norm_implementations();
}  // namespace tandem::kernels::cpu
namespace tandem::kernels::cuda {
/// Computes batch_norm_stats, and updates the running statistics, which have mean's dtype: running = (1 - momentum) *
/// running + momentum * new, where new is the batch's mean, or its unbiased variance. Increments batches (int64),
/// unless it is undefined.
void batch_norm_update_stats(const Tensor& x, double eps, double momentum, Tensor& running_mean, Tensor& running_var,
                             Tensor& batches, Tensor& mean, Tensor& var, Tensor& rstd);
/// Computes batch_norm_apply with rstd = 1 / sqrt(var + eps), from the variance var
void batch_norm_evaluate(const Tensor& x, const Tensor& mean, const Tensor& var, double eps, const Tensor& weight,
                         const Tensor& bias, Tensor& y);
}  // namespace tandem::kernels::cuda
/// Computes y = max_pool2d(relu(batch_norm_apply(x))) with adjacent windows of (kernel_h, kernel_w). chosen: index of
/// the maximum in its window, row by row, or 255 if the maximum is not above 0. x and y are float32, chosen is uint8;
/// all are (N, C, H, W) and channels-last. A window has at most 250 pixels.
TANDEM_DECLARE_CPU_KERNEL(norm_relu_pool, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                          const Tensor& bias, int64_t kernel_h, int64_t kernel_w, Tensor& y, Tensor& chosen)
/// Computes sum_dy, sum_dy_xhat and dx as batch_norm_backward does, from dy, the gradient of norm_relu_pool's y
TANDEM_DECLARE_CPU_KERNEL(norm_relu_pool_backward, const Tensor& dy, const Tensor& chosen, const Tensor& x,
                          const Tensor& mean, const Tensor& rstd, const Tensor& weight, bool training, int64_t kernel_h,
                          int64_t kernel_w, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx)
namespace tandem::kernels {
/// Returns whether norm_relu_pool supports x. The caller must check the windows: they must be adjacent and have at most
/// 250 pixels.
inline bool has_norm_relu_pool(const Tensor& x) {
  return x.is_cpu() && x.dtype() == kFloat32 && x.dim() == 4 && x.numel() > 0 && !x.is_contiguous() &&
         x.suggest_memory_format() == MemoryFormat::ChannelsLast;
}
}  // namespace tandem::kernels
/// Normalises each row of x (rows, n); mean and rstd (rows) receive the statistics of the rows. weight and bias may be
/// undefined
TANDEM_DECLARE_KERNEL(void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y,
                                      Tensor& mean, Tensor& rstd))
/// Computes the gradients of layer_norm. dweight (n) and dbias (n) may be undefined
TANDEM_DECLARE_KERNEL(void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean,
                                               const Tensor& rstd, const Tensor& weight, Tensor& dx, Tensor& dweight,
                                               Tensor& dbias))
