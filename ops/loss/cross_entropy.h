// Cross entropy: cross_entropy and cross_entropy_loss. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// The loss of a classifier whose last layer gives logits x (N, C): nll_loss of log_softmax(x), with label_smoothing of
/// the target towards the uniform distribution. Without smoothing the two are one kernel, and backward reads x again:
/// it must not change in place before. A target of x's sizes, of floating point, holds the probability of each class:
/// -sum_c target[n, c] weight[c] log_prob[n, c], of which the mean is that of all samples whatever their weights; there
/// is no ignore_index then.
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                     Reduction reduction = Reduction::mean, int64_t ignore_index = -100, double label_smoothing = 0);
/// Another name of it.
inline Tensor cross_entropy_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                 Reduction reduction = Reduction::mean, int64_t ignore_index = -100,
                                 double label_smoothing = 0) {
  return cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing);
}

}  // namespace tandem
