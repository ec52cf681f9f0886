// Ranks of matrices: linalg_matrix_rank.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// How many singular values count, as int64, by the bounds of linalg_pinv; tol is atol.
Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Tensor>& atol = {},
                          const std::optional<Tensor>& rtol = {}, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian = false);

}  // namespace tandem
