// take: reads elements at positions that count in row-major order. take_along_dim: reads elements at positions along a
// dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the elements of x at the positions `index`, which count in row-major order. The result has index's shape.
/// Negative positions count from the end.
inline Tensor take(const Tensor& x, const Tensor& index) { return x.take(index); }
/// Like gather, but x and indices broadcast in all dimensions except dim. A position out of range wraps around modulo
/// the size of x along dim. If dim is not given, x and indices are flattened in row-major order, and a position out of
/// range throws IndexError.
inline Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {}) {
  return x.take_along_dim(indices, dim);
}

}  // namespace tandem
