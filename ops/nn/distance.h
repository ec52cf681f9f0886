// Distances and similarities of vectors: dist, cdist, pdist, pairwise_distance, cosine_similarity.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The p-norm of a - b. Precision of this and the other distances: see norm.
inline Tensor dist(const Tensor& a, const Tensor& b, double p = 2) { return a.dist(b, p); }
/// (..., n, m): the p-norms of the differences of each row of a (..., n, k) and each of b (..., m, k).
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);
/// Of all pairs of rows of a matrix, in the order of the triangle above the diagonal.
Tensor pdist(const Tensor& x, double p = 2);
/// The p-norms of a - b + eps along the last dimension.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6,
                         detail::Flag keepdim = false);
/// a b / (max(|a|, eps) max(|b|, eps)), summed along dim. Operands broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8);

}  // namespace tandem
