// Choosing between two tensors by a condition: where.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns `a` where condition is true, and `b` elsewhere. All operands broadcast, and the dtypes of a and b promote.
/// condition must be bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b);
/// Returns the positions at which condition is not 0: one int64 vector per dimension.
std::vector<Tensor> where(const Tensor& condition);

}  // namespace tandem
