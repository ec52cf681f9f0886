// Eigenvalues and their vectors: linalg_eigh, linalg_eigvalsh of symmetric matrices; linalg_eig, linalg_eigvals.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (values, vectors) of symmetric matrices. Only the lower ("L") or upper ("U") triangle is read. Values ascend.
/// Vectors are unique only as far as linalg_svd says. The gradient is symmetric.
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& a, std::string_view UPLO = "L");
/// The values alone.
Tensor linalg_eigvalsh(const Tensor& a, std::string_view UPLO = "L");
/// @throws NotImplementedError: the eigenvalues of a matrix that is not symmetric are complex numbers
std::tuple<Tensor, Tensor> linalg_eig(const Tensor& a);
Tensor linalg_eigvals(const Tensor& a);

}  // namespace tandem
