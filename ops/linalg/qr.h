// QR factors and Householder reflectors: linalg_qr, geqrf, linalg_householder_product, orgqr, ormqr.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns (Q, R) with a = Q R and k = min(m, n). Modes: "reduced", Q (..., m, k) and R (..., k, n); "complete", Q
/// (..., m, m) and R (..., m, n); "r", an empty Q and the R of "reduced". The signs are LAPACK's choice. The gradient
/// requires that the first k columns of a are linearly independent. There is no gradient for "r", nor for "complete" if
/// m > n.
std::tuple<Tensor, Tensor> linalg_qr(const Tensor& a, std::string_view mode = "reduced");
/// Returns (a, tau): R in the upper triangle of a, Householder reflectors below it, and their scale factors in tau.
/// There is no gradient, as in PyTorch.
std::tuple<Tensor, Tensor> geqrf(const Tensor& a);
/// Returns the first n columns of the product of Householder reflectors, stored in x (..., m, n) with m >= n and tau
/// (..., k) with k <= n.
Tensor linalg_householder_product(const Tensor& x, const Tensor& tau);
Tensor orgqr(const Tensor& x, const Tensor& tau);
/// Multiplies c by the whole product (..., m, m) of the reflectors, or by its transpose, from the left or the right.
Tensor ormqr(const Tensor& x, const Tensor& tau, const Tensor& c, bool left = true, bool transpose = false);

}  // namespace tandem
