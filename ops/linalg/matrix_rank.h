// Ranks of matrices: linalg_matrix_rank.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the number of singular values above the bounds of linalg_pinv, as int64; tol is atol.
Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Tensor>& atol = {},
                          const std::optional<Tensor>& rtol = {}, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian = false);

}  // namespace tandem
