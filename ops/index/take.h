// take and take_along_dim: read elements at flat positions, and along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements of x at these places in row-major order, from the end where negative, in index's shape.
inline Tensor take(const Tensor& x, const Tensor& index) { return x.take(index); }
/// gather, of x and indices that broadcast in all dimensions but dim. An index outside the size of dim counts modulo
/// it. Without dim, x and indices are flattened in row-major order, and an index outside throws IndexError.
inline Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {}) {
  return x.take_along_dim(indices, dim);
}

}  // namespace tandem
