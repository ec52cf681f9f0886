// Joining tensors: cat (concat, concatenate), stack, hstack, vstack (row_stack), dstack and column_stack.
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

/// Joined along the second dimension (vectors: the first), the first and the third, which are added where missing.
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor dstack(TensorList tensors);
/// As hstack, with vectors and scalars as columns; row_stack is another spelling of vstack.
Tensor column_stack(TensorList tensors);
inline Tensor row_stack(TensorList tensors) { return vstack(tensors); }

}  // namespace tandem
