// Joining tensors: cat, its aliases concat and concatenate, and stack.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Tensors joined along an existing dimension; the other sizes must agree, except that a tensor of shape (0,) may stand
/// beside any. dtypes promote.
Tensor cat(TensorList tensors, int64_t dim = 0);
/// Another spelling of cat.
inline Tensor concat(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
inline Tensor concatenate(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
/// Tensors of one shape joined along a new dimension.
Tensor stack(TensorList tensors, int64_t dim = 0);

}  // namespace tandem
