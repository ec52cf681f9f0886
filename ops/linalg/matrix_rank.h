// Ranks of matrices: linalg_matrix_rank.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns, as int64, the number of singular values above the bounds that linalg_pinv describes. tol is another name of
/// atol.
Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Tensor>& atol = {},
                          const std::optional<Tensor>& rtol = {}, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian = false);

}  // namespace tandem
