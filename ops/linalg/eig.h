// Eigenvalues and eigenvectors: linalg_eigh and linalg_eigvalsh for symmetric matrices; linalg_eig and linalg_eigvals.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the eigenvalues, ascending, and eigenvectors of symmetric matrices. Only the lower ("L") or upper ("U")
/// triangle is read. Eigenvectors are not unique, so only some functions of them have gradients; see linalg_svd. The
/// gradient of a is symmetric.
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& a, std::string_view UPLO = "L");
/// Returns only the eigenvalues; see linalg_eigh.
Tensor linalg_eigvalsh(const Tensor& a, std::string_view UPLO = "L");
/// @throws NotImplementedError always: a matrix that is not symmetric may have complex eigenvalues
std::tuple<Tensor, Tensor> linalg_eig(const Tensor& a);
Tensor linalg_eigvals(const Tensor& a);

}  // namespace tandem
