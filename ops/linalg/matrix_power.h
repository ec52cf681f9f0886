// Powers of matrices: linalg_matrix_power, matrix_power.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a^n for square matrices: a power of the inverse if n is negative, the identity if n is 0.
Tensor linalg_matrix_power(const Tensor& a, int64_t n);
Tensor matrix_power(const Tensor& a, int64_t n);

}  // namespace tandem
