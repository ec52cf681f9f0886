// Cross entropy: cross_entropy and cross_entropy_loss. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

namespace qualified {  // LibTorch has cross_entropy in torch::nn::functional only, so programs define their own
/// Returns the loss of a classifier with logits x: nll_loss of log_softmax(x). label_smoothing, in [0, 1], mixes the
/// target with the uniform distribution. Without smoothing, one kernel computes both steps, and backward reads x again,
/// so x must not be changed in place before backward.
/// A floating-point target with x's sizes holds the probability of each class. The loss is then -sum_c target[n, c]
/// weight[c] log_prob[n, c], Reduction::mean averages over samples regardless of weights, and ignore_index is not
/// supported.
/// @param x       logits: (C), (N, C) or (N, C, d...), floating point
/// @param target  class indices as in nll_loss, or probabilities
/// @param weight  (C) or undefined
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                     detail::LossReduction reduction = Reduction::mean, int64_t ignore_index = -100,
                     double label_smoothing = 0);
}  // namespace qualified
using namespace qualified;
/// Alias of cross_entropy.
inline Tensor cross_entropy_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                 detail::LossReduction reduction = Reduction::mean, int64_t ignore_index = -100,
                                 double label_smoothing = 0) {
  return cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing);
}

}  // namespace tandem
