// Distances and similarities of vectors: dist, cdist, pdist, pairwise_distance, cosine_similarity.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the p-norm of a - b. See norm for the precision of all functions here.
inline Tensor dist(const Tensor& a, const Tensor& b, double p = 2) { return a.dist(b, p); }
/// Returns the p-norms (..., n, m) of the differences between each row of a (..., n, k) and each row of b (..., m, k).
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);
/// Returns the p-norms of the differences of all pairs of rows of a matrix, in row-major order of the triangle above
/// the diagonal.
Tensor pdist(const Tensor& x, double p = 2);
/// Returns the p-norms of a - b + eps along the last dimension.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6,
                         detail::Flag keepdim = false);
/// Returns the sum along dim of a b / (max(|a|, eps) max(|b|, eps)), where |a| is the norm along dim. Operands
/// broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8);

}  // namespace tandem
