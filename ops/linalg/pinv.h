// Pseudoinverses: linalg_pinv, pinverse.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// Returns the gradient of a (Golub and Pereyra 1973), where p is the pseudoinverse of a and dp is the gradient of p.
Tensor pinv_backward(const Tensor& dp, const Tensor& p, const Tensor& a);
}  // namespace detail

/// Returns the pseudoinverse (..., n, m), computed from singular values, or, if hermitian (symmetric), from
/// eigenvalues. Values up to max(atol, rtol times the largest value) count as 0. If neither bound is given, rtol is
/// machine precision times max(m, n); if only atol is given, rtol is 0. rcond is another name of rtol. A bound that is
/// a tensor has one element per matrix.
Tensor linalg_pinv(const Tensor& a, const std::optional<Tensor>& atol = {}, const std::optional<Tensor>& rtol = {},
                   bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, const Tensor& rcond, bool hermitian = false);
Tensor pinverse(const Tensor& a, double rcond = 1e-15);

}  // namespace tandem
