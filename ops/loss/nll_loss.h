// Negative log likelihood: nll_loss, nll_loss2d, nll_loss_nd. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns the negative log likelihood -weight[t] log_prob[n, t], where t is the target of sample n. Reduction::mean
/// divides by the sum of the weights; if that is 0, the result is NaN, as in PyTorch.
/// @param log_prob  (C), (N, C) or (N, C, d...), floating point
/// @param target    (), (N) or (N, d...), int64 or uint8, in [0, C); targets equal to ignore_index are skipped
/// @param weight    (C) or undefined
/// @throws IndexError on the CPU for a target that is out of range
Tensor nll_loss(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                detail::LossReduction reduction = Reduction::mean, int64_t ignore_index = -100);
/// Aliases of nll_loss.
inline Tensor nll_loss2d(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                         detail::LossReduction reduction = Reduction::mean, int64_t ignore_index = -100) {
  return nll_loss(log_prob, target, weight, reduction, ignore_index);
}
inline Tensor nll_loss_nd(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                          detail::LossReduction reduction = Reduction::mean, int64_t ignore_index = -100) {
  return nll_loss(log_prob, target, weight, reduction, ignore_index);
}

namespace detail {
/// Computes nll_loss for rows of classes, for cross_entropy. The tensors must be contiguous. Returns the loss of each
/// row, or the mean if `mean` is true.
Tensor nll_loss_per_row(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index);
}  // namespace detail

}  // namespace tandem
