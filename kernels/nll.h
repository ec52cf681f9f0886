// Losses of class indices, by rows of classes, contiguous, of floating dtypes. What there is one of for each row or
// class (losses, weights, dloss, log_sum, loss, total) is float32 beside half types.
#pragma once
#include "tandem/kernels/declare.h"

/// losses[i] = -weight[t] log_prob[i, t], weights[i] = weight[t] (0 where t is ignore_index); weight may be undefined
TANDEM_KERNEL(void nll(const Tensor& log_prob, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                       Tensor& losses, Tensor& weights))
/// total = the sum of weights, loss = that of losses over it; both are single elements
TANDEM_KERNEL(void nll_mean(const Tensor& losses, const Tensor& weights, Tensor& loss, Tensor& total))
/// dx[i, t] = -dloss[i] weights[i], zero elsewhere and in rows whose target is ignore_index. Where total is defined,
/// dloss is of the mean, one number, and dloss / total takes the place of dloss[i]
TANDEM_KERNEL(void nll_backward(const Tensor& dloss, const Tensor& total, const Tensor& target, const Tensor& weights,
                                int64_t ignore_index, Tensor& dx))
/// nll of log_softmax in one read: losses[i] = weight[t] (log_sum[i] - x[i, t]), log_sum[i] = ln sum_j e^x[i, j];
/// a loss is as exact as it is small, for the largest x is subtracted from x[i, t] first
TANDEM_KERNEL(void cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                                 Tensor& losses, Tensor& weights, Tensor& log_sum))
/// dx[i, j] = dloss[i] weights[i] (e^(x[i, j] - log_sum[i]) - [j = t]), zero where the target is ignore_index. total:
/// as of nll_backward
TANDEM_KERNEL(void cross_entropy_backward(const Tensor& dloss, const Tensor& total, const Tensor& x,
                                          const Tensor& target, const Tensor& weights, const Tensor& log_sum,
                                          int64_t ignore_index, Tensor& dx))

namespace tandem::kernels::cpu {
/// Contiguous numbers of a floating dtype. @throws Error that begins with `name` and ends with `remedy` when one is
/// outside of 0 to 1
void check_probabilities(const char* name, const Tensor& x, const char* remedy);
}  // namespace tandem::kernels::cpu
namespace tandem::kernels {
/// Whether tensors on that device are checked. On CUDA they are not, since the host would have to wait for the result.
inline bool checks_probabilities(Device device) { return device.is_cpu(); }
using cpu::check_probabilities;
}  // namespace tandem::kernels
