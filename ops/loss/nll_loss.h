// Negative log likelihood: nll_loss, nll_loss2d, nll_loss_nd. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Negative log likelihood:  -weight[t] log_prob[n, t], averaged by the weights (Reduction::mean).
/// @param log_prob  (C), (N, C) or (N, C, d...), floating point
/// @param target    (), (N) or (N, d...) int64 or uint8 in [0, C), or ignore_index, which counts for nothing
/// @param weight    (C) or undefined
/// @throws IndexError on the CPU for any other target. Nothing to average gives NaN, as in PyTorch.
Tensor nll_loss(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                Reduction reduction = Reduction::mean, int64_t ignore_index = -100);
/// Other names of it.
inline Tensor nll_loss2d(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                         Reduction reduction = Reduction::mean, int64_t ignore_index = -100) {
  return nll_loss(log_prob, target, weight, reduction, ignore_index);
}
inline Tensor nll_loss_nd(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                          Reduction reduction = Reduction::mean, int64_t ignore_index = -100) {
  return nll_loss(log_prob, target, weight, reduction, ignore_index);
}

namespace detail {
/// nll_loss as cross_entropy takes part of it: of rows of classes, as the kernels take them, each or their mean.
Tensor nll_rows(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index);
}  // namespace detail

}  // namespace tandem
