// Losses of distances and of pairs of embeddings: hinge_embedding_loss, cosine_embedding_loss.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

// A target is 1 for similar pairs, and -1 for dissimilar pairs. Operands broadcast.

/// Returns x where target is 1, max(0, margin - x) where target is -1, and the sum of both terms for any other target.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            detail::LossReduction reduction = Reduction::mean);
/// Returns 1 - c where target is 1, and max(0, c - margin) where target is -1; c is the cosine of the angle between the
/// rows of a and b.
/// @param a, b    (N, D), or (D) with a 0-dim target
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                             detail::LossReduction reduction = Reduction::mean);

}  // namespace tandem
