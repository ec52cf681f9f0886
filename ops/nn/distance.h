// Distances and similarities of vectors: dist, cdist, pdist, pairwise_distance, cosine_similarity.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the p-norm of a - b. See norm for the precision of all functions here.
inline Tensor dist(const Tensor& a, const Tensor& b, detail::Real p = 2) { return a.dist(b, p); }
/// Returns the p-norms (..., n, m) of the differences between each row of a (..., n, k) and each row of b (..., m, k).
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);
/// As above. LibTorch's compute_mode (0, 1 or 2) chooses between ways to compute it; Tandem has one, which loses no
/// digits. @throws Error for another compute_mode
inline Tensor cdist(const Tensor& a, const Tensor& b, double p, std::optional<int64_t> compute_mode) {
  TANDEM_CHECK(compute_mode.value_or(0) >= 0 && compute_mode.value_or(0) <= 2,
               "cdist: possible modes: 0, 1, 2, but was: ", *compute_mode);
  return cdist(a, b, p);
}
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
