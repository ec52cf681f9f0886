// Matrix products without a history, for matmul and linear. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// y = a b, plus bias in each row where it is defined.
void multiply_matrices(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& y);
/// Of integers: the sum of k products of a column and a row, which wraps.
void add_products(const Tensor& a, const Tensor& b, Tensor y);

}  // namespace tandem::detail
