// Losses of distances and of pairs of embeddings: hinge_embedding_loss, cosine_embedding_loss.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

// Targets of -1 and 1 say which of two cases it is; operands broadcast.

/// x where target is 1, max(0, margin - x) where it is -1; for any other target their sum.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);
/// With c the cosine of the angle between rows: 1 - c where target is 1, max(0, c - margin) where it is -1.
/// @param a, b    (N, D), or (D) with a scalar target
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::mean);

}  // namespace tandem
