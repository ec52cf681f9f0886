// Powers of matrices: linalg_matrix_power, matrix_power.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// a^n: of the inverse for n < 0, the identity for n = 0.
Tensor linalg_matrix_power(const Tensor& a, int64_t n);
Tensor matrix_power(const Tensor& a, int64_t n);

}  // namespace tandem
