// gradient: slopes along dimensions, estimated from differences of neighbours.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The slope of x along each of dims (all, where none is named) by central differences, at the ends by one-sided ones
/// of order edge_order, 1 or 2. Its elements are `spacing` apart, one number for all dimensions or one for each, or lie
/// at places that vectors tell, one for each dimension. Of integers in the default floating dtype.
std::vector<Tensor> gradient(const Tensor& x, const std::optional<Scalar>& spacing = {},
                             std::optional<int64_t> dim = {}, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, const Scalar& spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList places, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList places, IntArrayRef dims, int64_t edge_order = 1);

}  // namespace tandem
