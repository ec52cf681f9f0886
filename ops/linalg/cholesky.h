// Factors of positive-definite matrices: linalg_cholesky, linalg_cholesky_ex, cholesky_solve, cholesky_inverse.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// L of a = L L^T, or U of a = U^T U, from the lower or the upper triangle of a, positive-definite. The gradient is
/// symmetric (Murray 2016, arXiv:1602.07527).
Tensor linalg_cholesky(const Tensor& a, bool upper = false);
/// (L or U, info): as linalg_cholesky, but another matrix is an error only with check_errors.
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper = false, bool check_errors = false);
/// x of a x = b, from what linalg_cholesky gives of a.
Tensor cholesky_solve(const Tensor& b, const Tensor& L, bool upper = false);
/// The inverse of a, from what linalg_cholesky gives of a.
Tensor cholesky_inverse(const Tensor& L, bool upper = false);

}  // namespace tandem
