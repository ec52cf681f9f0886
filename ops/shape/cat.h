// Tensors joined along a dimension: hstack, vstack, dstack, column_stack, row_stack.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Joined along the second dimension (vectors: the first), the first and the third, which are added where missing.
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor dstack(TensorList tensors);
/// As hstack, with vectors and scalars as columns; row_stack is another spelling of vstack.
Tensor column_stack(TensorList tensors);
inline Tensor row_stack(TensorList tensors) { return vstack(tensors); }

}  // namespace tandem
