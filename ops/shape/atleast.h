// Adding dimensions of size 1 up to a given number: atleast_1d, atleast_2d, atleast_3d.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Return a view of x with at least one, two or three dimensions. Missing dimensions are added with size 1; if none are
/// missing, x itself is returned.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);

}  // namespace tandem
