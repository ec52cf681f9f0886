// Several tensors as one vector and back: flatten_dense_tensors and unflatten_dense_tensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// All elements of all tensors in one vector, one tensor behind the other.
Tensor flatten_dense_tensors(TensorList tensors);
/// What flatten_dense_tensors joined, cut again into tensors of the sizes of `tensors`: views of `flat`.
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors);

}  // namespace tandem
