// Exponentials of matrices: linalg_matrix_exp, matrix_exp.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns e^a, computed by scaling, a Taylor polynomial and squaring.
Tensor linalg_matrix_exp(const Tensor& a);
Tensor matrix_exp(const Tensor& a);

}  // namespace tandem
