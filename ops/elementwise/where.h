// Choice by a condition: where.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// condition ? a : b, elementwise; condition is bool
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b);
/// The positions at which condition is not 0: a vector of int64 for each dimension.
std::vector<Tensor> where(const Tensor& condition);

}  // namespace tandem
