// Triangles of matrices: tril, triu, tril_, triu_, tril_indices, triu_indices.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Return matrices (..., n, m) with zeros above (tril) or below (triu) a diagonal. The underscored versions work in
/// place.
inline Tensor tril(const Tensor& x, int64_t diagonal = 0) { return x.tril(diagonal); }
inline Tensor triu(const Tensor& x, int64_t diagonal = 0) { return x.triu(diagonal); }
inline Tensor& tril_(Tensor& x, int64_t diagonal = 0) { return x.tril_(diagonal); }
inline Tensor& triu_(Tensor& x, int64_t diagonal = 0) { return x.triu_(diagonal); }
/// Return the (row, column) indices of a lower or upper triangle of a matrix with `row` rows and `col` columns, as a
/// tensor (2, count), int64 unless the options set another dtype.
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);

}  // namespace tandem
