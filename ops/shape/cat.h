// Joining tensors: cat (concat, concatenate), stack, hstack, vstack (row_stack), dstack and column_stack.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Concatenates tensors along an existing dimension. All other sizes must agree, except that a tensor of shape (0,) may
/// be concatenated with any others. Dtypes promote.
Tensor cat(TensorList tensors, int64_t dim = 0);
/// Aliases of cat.
inline Tensor concat(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
inline Tensor concatenate(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
/// Concatenates tensors of equal shape along a new dimension.
Tensor stack(TensorList tensors, int64_t dim = 0);

/// Concatenate along the second dimension (hstack; the first for vectors), the first (vstack) and the third (dstack).
/// Missing dimensions are added as in atleast_1d, atleast_2d and atleast_3d.
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor dstack(TensorList tensors);
/// Concatenates along the second dimension; vectors and 0-dim tensors become columns. row_stack is an alias of vstack.
Tensor column_stack(TensorList tensors);
inline Tensor row_stack(TensorList tensors) { return vstack(tensors); }

}  // namespace tandem
