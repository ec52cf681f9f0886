// Negative log likelihood and cross entropy for class indices. The scores of a row's classes are contiguous and of a
// floating dtype. If that is a half type, tensors with one number per row or class, or a single number (losses,
// weights, dloss, log_sum, loss, total) are float32.
#pragma once
#include "tandem/kernels/declare.h"

/// losses[i] = -weight[t] log_prob[i, t] and weights[i] = weight[t] with t = target[i]; both are 0 if t is
/// ignore_index. If weight is undefined, weight[t] is 1
TANDEM_DECLARE_KERNEL(void nll(const Tensor& log_prob, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                               Tensor& losses, Tensor& weights))
/// total = sum of weights, loss = sum of losses / total; both are single elements
TANDEM_DECLARE_KERNEL(void nll_mean(const Tensor& losses, const Tensor& weights, Tensor& loss, Tensor& total))
/// dx[i, t] = -dloss[i] weights[i] with t = target[i]; dx is 0 elsewhere, and in rows whose target is ignore_index. If
/// total is defined, dloss is the gradient of the mean, a single number, and dloss / total replaces dloss[i]
TANDEM_DECLARE_KERNEL(void nll_backward(const Tensor& dloss, const Tensor& total, const Tensor& target,
                                        const Tensor& weights, int64_t ignore_index, Tensor& dx))
/// Computes nll of log_softmax(x) in one read of x: losses[i] = weight[t] (log_sum[i] - x[i, t]) with t = target[i] and
/// log_sum[i] = ln sum_j e^x[i, j]. Small losses are accurate too, because the row's maximum is subtracted from x[i, t]
/// first
TANDEM_DECLARE_KERNEL(void cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                                         int64_t ignore_index, Tensor& losses, Tensor& weights, Tensor& log_sum))
/// dx[i, j] = dloss[i] weights[i] (e^(x[i, j] - log_sum[i]) - [j = t]) with t = target[i], and 0 if t is ignore_index.
/// `total` has the same meaning as in nll_backward
TANDEM_DECLARE_KERNEL(void cross_entropy_backward(const Tensor& dloss, const Tensor& total, const Tensor& x,
                                                  const Tensor& target, const Tensor& weights, const Tensor& log_sum,
                                                  int64_t ignore_index, Tensor& dx))

namespace tandem::kernels::cpu {
/// Checks x, which holds contiguous floating numbers. @throws Error that begins with `name` and ends with `error_hint`
/// if a number is outside [0, 1]
void check_probabilities(const char* name, const Tensor& x, const char* error_hint);
}  // namespace tandem::kernels::cpu
namespace tandem::kernels {
/// Returns whether probabilities are checked to lie in [0, 1] on this device. On CUDA they are not, because the host
/// would have to wait for the GPU.
inline bool checks_probabilities(Device device) { return device.is_cpu(); }
using cpu::check_probabilities;
}  // namespace tandem::kernels
