// Namespace tandem::linalg: the functions of ops/linalg/linalg.h, named as in torch::linalg.
#pragma once
#include <utility>

#include "tandem/ops/linalg/linalg.h"

namespace tandem::linalg {

// Each function calls the function linalg_NAME of ops/linalg/linalg.h with the same arguments.

inline Tensor norm(const Tensor& x, const std::optional<Scalar>& ord = {}, tandem::detail::OptionalDims dim = {},
                   tandem::detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return linalg_norm(x, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Tensor& x, std::string_view ord, tandem::detail::OptionalDims dim = {},
                   tandem::detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return linalg_norm(x, ord, dim, keepdim, dtype);
}
inline tandem::detail::ThreeTensors lu(const Tensor& a, bool pivot = true) { return linalg_lu(a, pivot); }
inline std::tuple<Tensor, Tensor> lu_factor(const Tensor& a, bool pivot = true) { return linalg_lu_factor(a, pivot); }
inline tandem::detail::ThreeTensors lu_factor_ex(const Tensor& a, bool pivot = true, bool check_errors = false) {
  return linalg_lu_factor_ex(a, pivot, check_errors);
}
inline Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left = true,
                       bool adjoint = false) {
  return linalg_lu_solve(LU, pivots, b, left, adjoint);
}
inline Tensor solve(const Tensor& a, const Tensor& b, bool left = true) { return linalg_solve(a, b, left); }
inline std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left = true,
                                           bool check_errors = false) {
  return linalg_solve_ex(a, b, left, check_errors);
}
inline Tensor inv(const Tensor& a) { return linalg_inv(a); }
inline std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors = false) {
  return linalg_inv_ex(a, check_errors);
}
inline Tensor det(const Tensor& a) { return linalg_det(a); }
inline std::tuple<Tensor, Tensor> slogdet(const Tensor& a) { return linalg_slogdet(a); }
inline Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                               bool unitriangular = false) {
  return linalg_solve_triangular(a, b, upper, left, unitriangular);
}
inline Tensor cholesky(const Tensor& a, bool upper = false) { return linalg_cholesky(a, upper); }
inline std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& a, bool upper = false, bool check_errors = false) {
  return linalg_cholesky_ex(a, upper, check_errors);
}
inline std::tuple<Tensor, Tensor> qr(const Tensor& a, std::string_view mode = "reduced") { return linalg_qr(a, mode); }
inline Tensor householder_product(const Tensor& x, const Tensor& tau) { return linalg_householder_product(x, tau); }
inline tandem::detail::ThreeTensors svd(const Tensor& a, bool full_matrices = true,
                                        std::optional<std::string_view> driver = {}) {
  return linalg_svd(a, full_matrices, driver);
}
inline Tensor svdvals(const Tensor& a, std::optional<std::string_view> driver = {}) {
  return linalg_svdvals(a, driver);
}
inline std::tuple<Tensor, Tensor> eigh(const Tensor& a, std::string_view UPLO = "L") { return linalg_eigh(a, UPLO); }
inline Tensor eigvalsh(const Tensor& a, std::string_view UPLO = "L") { return linalg_eigvalsh(a, UPLO); }
inline std::tuple<Tensor, Tensor> eig(const Tensor& a) { return linalg_eig(a); }
inline Tensor eigvals(const Tensor& a) { return linalg_eigvals(a); }
inline std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& a, const Tensor& b,
                                                        std::optional<double> rcond = {},
                                                        std::optional<std::string_view> driver = {}) {
  return linalg_lstsq(a, b, rcond, driver);
}
inline Tensor pinv(const Tensor& a, const std::optional<Tensor>& atol = {}, const std::optional<Tensor>& rtol = {},
                   bool hermitian = false) {
  return linalg_pinv(a, atol, rtol, hermitian);
}
inline Tensor pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian = false) {
  return linalg_pinv(a, atol, rtol, hermitian);
}
inline Tensor pinv(const Tensor& a, double rcond, bool hermitian = false) { return linalg_pinv(a, rcond, hermitian); }
inline Tensor pinv(const Tensor& a, const Tensor& rcond, bool hermitian = false) {
  return linalg_pinv(a, rcond, hermitian);
}
inline Tensor matrix_rank(const Tensor& a, const std::optional<Tensor>& atol = {},
                          const std::optional<Tensor>& rtol = {}, bool hermitian = false) {
  return linalg_matrix_rank(a, atol, rtol, hermitian);
}
inline Tensor matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian = false) {
  return linalg_matrix_rank(a, atol, rtol, hermitian);
}
inline Tensor matrix_rank(const Tensor& a, double tol, bool hermitian = false) {
  return linalg_matrix_rank(a, tol, hermitian);
}
inline Tensor matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian = false) {
  return linalg_matrix_rank(a, tol, hermitian);
}
inline Tensor matrix_power(const Tensor& a, int64_t n) { return linalg_matrix_power(a, n); }
inline Tensor matrix_exp(const Tensor& a) { return linalg_matrix_exp(a); }
inline Tensor tensorinv(const Tensor& a, int64_t ind = 2) { return linalg_tensorinv(a, ind); }
inline Tensor tensorsolve(const Tensor& a, const Tensor& b, tandem::detail::OptionalDims dims = {}) {
  return linalg_tensorsolve(a, b, dims);
}
inline Tensor vander(const Tensor& x, std::optional<int64_t> N = {}) { return linalg_vander(x, N); }
inline Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1) { return linalg_vecdot(x, y, dim); }
inline Tensor cross(const Tensor& a, const Tensor& b, int64_t dim = -1) { return linalg_cross(a, b, dim); }
inline Tensor diagonal(const Tensor& a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return linalg_diagonal(a, offset, dim1, dim2);
}
inline Tensor matmul(const Tensor& a, const Tensor& b) { return linalg_matmul(a, b); }
inline Tensor vector_norm(const Tensor& x, const Scalar& ord = 2, tandem::detail::OptionalDims dim = {},
                          tandem::detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return linalg_vector_norm(x, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& x, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          tandem::detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return linalg_matrix_norm(x, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& x, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          tandem::detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return linalg_matrix_norm(x, ord, dim, keepdim, dtype);
}
inline Tensor cond(const Tensor& a, const std::optional<Scalar>& p = {}) { return linalg_cond(a, p); }
inline Tensor cond(const Tensor& a, std::string_view p) { return linalg_cond(a, p); }
inline Tensor multi_dot(TensorList tensors) { return linalg_multi_dot(tensors); }

}  // namespace tandem::linalg
