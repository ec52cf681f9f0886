// Numerical derivatives along dimensions, estimated from neighbours: gradient.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the derivative of x along each of the given dimensions, or along all. It uses central differences, and at
/// the ends one-sided differences of order edge_order, 1 or 2. `spacing` is the distance between elements, one number
/// for all dimensions or one for each (default 1); `positions` are vectors of coordinates, one for each dimension.
/// Integers are converted to the default floating dtype.
std::vector<Tensor> gradient(const Tensor& x, const std::optional<Scalar>& spacing = {},
                             std::optional<int64_t> dim = {}, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, const Scalar& spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList positions, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList positions, IntArrayRef dims, int64_t edge_order = 1);

}  // namespace tandem
