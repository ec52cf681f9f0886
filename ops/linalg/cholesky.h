// Cholesky factors of positive-definite matrices: linalg_cholesky, linalg_cholesky_ex, cholesky_solve,
// cholesky_inverse.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns L with a = L L^T, or, if `upper` is true, U with a = U^T U. a must be positive-definite; only its lower (or
/// upper) triangle is read. The gradient is symmetric (Murray 2016, arXiv:1602.07527).
/// @throws LinAlgError if a matrix is not positive-definite
Tensor linalg_cholesky(const Tensor& a, bool upper = false);
/// Returns (factor, info). Like linalg_cholesky, but throws for a matrix that is not positive-definite only if
/// check_errors is true.
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper = false, bool check_errors = false);
/// Solves a x = b for x; L is the factor of a that linalg_cholesky returns.
Tensor cholesky_solve(const Tensor& b, const Tensor& L, bool upper = false);
/// Returns the inverse of a; L is the factor of a that linalg_cholesky returns.
Tensor cholesky_inverse(const Tensor& L, bool upper = false);

}  // namespace tandem
