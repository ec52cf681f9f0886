// Matrix products that autograd does not record, for matmul and linear. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Computes y = a b, and adds bias to each row if it is defined.
void multiply_matrices(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& y);
/// Adds the product of integer matrices a and b to y, as a sum of k products of a column and a row; wraps on overflow.
void add_products(const Tensor& a, const Tensor& b, Tensor y);

}  // namespace tandem::detail
