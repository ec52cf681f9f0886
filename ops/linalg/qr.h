// QR factors and Householder's reflectors: linalg_qr, geqrf, linalg_householder_product, orgqr, ormqr.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (Q, R): "reduced", Q (..., m, k), R (..., k, n); "complete", Q (..., m, m), R (..., m, n); "r", an empty Q and R of
/// "reduced". Signs are LAPACK's. The gradient asks for independent first k columns, and does not exist for "r", nor
/// for "complete" where m > n.
std::tuple<Tensor, Tensor> linalg_qr(const Tensor& a, std::string_view mode = "reduced");
/// (a, tau): R in the upper triangle, Householder's reflectors below it, their factors in tau. No gradient, as in
/// PyTorch.
std::tuple<Tensor, Tensor> geqrf(const Tensor& a);
/// The first n columns of the product of the reflectors that x (..., m, n), m >= n, and tau (..., k), k <= n hold.
Tensor linalg_householder_product(const Tensor& x, const Tensor& tau);
Tensor orgqr(const Tensor& x, const Tensor& tau);
/// c times their whole product (..., m, m), or its transpose, from the left or the right.
Tensor ormqr(const Tensor& x, const Tensor& tau, const Tensor& c, bool left = true, bool transpose = false);

}  // namespace tandem
