// take and take_along_dim: read elements at flat positions, and along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the elements of x at these positions in row-major order, in index's shape. Negative positions count from the
/// end.
inline Tensor take(const Tensor& x, const Tensor& index) { return x.take(index); }
/// gather for x and indices that broadcast in all dimensions but dim. A position outside dim wraps around modulo the
/// size. Without dim, x and indices are flattened in row-major order, and a position out of range throws IndexError.
inline Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {}) {
  return x.take_along_dim(indices, dim);
}

}  // namespace tandem
