// Pseudoinverses: linalg_pinv, pinverse.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// The gradient of the pseudoinverse p of a (Golub and Pereyra 1973), given that of p.
Tensor pinv_backward(const Tensor& dp, const Tensor& p, const Tensor& a);
}  // namespace detail

/// The pseudoinverse (..., n, m), by singular values, or eigenvalues of hermitian (symmetric) matrices: those up to
/// max(atol, rtol times the largest) count as 0. rtol is machine precision times max(m, n) where neither is given, and
/// 0 beside atol; rcond is rtol. Tensors of them are one for each matrix.
Tensor linalg_pinv(const Tensor& a, const std::optional<Tensor>& atol = {}, const std::optional<Tensor>& rtol = {},
                   bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, const Tensor& rcond, bool hermitian = false);
Tensor pinverse(const Tensor& a, double rcond = 1e-15);

}  // namespace tandem
