// Concatenating tensors into one vector and splitting it again: flatten_dense_tensors, unflatten_dense_tensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Concatenates the elements of all tensors into one vector.
Tensor flatten_dense_tensors(TensorList tensors);
/// Splits a vector made by flatten_dense_tensors into views with the sizes of `tensors`.
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors);

}  // namespace tandem
