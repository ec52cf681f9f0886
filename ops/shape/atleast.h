// Dimensions added up to a number: atleast_1d, atleast_2d, atleast_3d.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// A view of x with at least that many dimensions: x itself where it has them, else with sizes of 1 added.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);

}  // namespace tandem
