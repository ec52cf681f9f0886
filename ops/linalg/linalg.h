// Linear algebra: factorizations, solutions, functions and norms of matrices. x is (..., m, n), leading dimensions are
// batches, and two operands' batches broadcast; float32 and float64 only. They are computed by LAPACK on the host, so
// tensors of a GPU are copied there and back; a build without LAPACK throws NotImplementedError. Functions whose name
// ends in _ex give `info` (int32, one for each matrix) as well, 0 for success, and throw LinAlgError for another one
// only if check_errors is set; the others throw it. ops/linalg/names.h has the same under tandem::linalg.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// Dimensions, or none given.
struct OptionalDims {
  OptionalDims(std::nullopt_t = std::nullopt) {}
  OptionalDims(int64_t dim) : given(true), dims{dim} {}
  OptionalDims(IntArrayRef list) : given(true), dims(list) {}
  OptionalDims(const std::vector<int64_t>& list) : given(true), dims(list) {}
  OptionalDims(std::initializer_list<int64_t> list) : given(true), dims(list) {}
  bool given = false;
  Shape dims;
};
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;
}  // namespace detail

// ---- by LU factors
/// (P, L, U) with a = P L U: L (..., m, k) with ones on the diagonal, U (..., k, n), k = min(m, n).
/// @throws Error for pivot = false, which PyTorch has on GPUs only
detail::ThreeTensors linalg_lu(const Tensor& a, bool pivot = true);
/// (LU, pivots): both factors in one matrix without L's diagonal, and int32 pivots from 1 on, as LAPACK has them.
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot = true);
detail::ThreeTensors linalg_lu_factor_ex(const Tensor& a, bool pivot = true, bool check_errors = false);
/// (P, L, U) of what linalg_lu_factor gives; what is not to be unpacked is an empty tensor.
detail::ThreeTensors lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data = true,
                               bool unpack_pivots = true);
/// x of a x = b (or x a = b, unless left), or with the transpose of a if adjoint is set, from a's factors.
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left = true, bool adjoint = false);
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots);
/// x of a x = b, or of x a = b unless left. b is matrices, or vectors: of one dimension, or of a's sizes but the last.
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left = true);
/// (x, info): as linalg_solve, but a singular matrix is an error only with check_errors.
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left = true,
                                           bool check_errors = false);
/// The inverse of a. @throws LinAlgError for a singular matrix
Tensor linalg_inv(const Tensor& a);
/// (inverse, info): as linalg_inv, but a singular matrix is an error only with check_errors.
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors = false);
Tensor inverse(const Tensor& a);
/// The determinant of a. It has first and second derivatives at any rank.
Tensor linalg_det(const Tensor& a);
Tensor det(const Tensor& a);
/// (sign, ln |det|): 0 and -inf for a singular matrix.
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a);
std::tuple<Tensor, Tensor> slogdet(const Tensor& a);
/// ln det a, NaN where the determinant is negative.
Tensor logdet(const Tensor& a);

// ---- triangular and positive-definite matrices
/// x of a x = b, or of x a = b unless left, reading one triangle of a, with ones for its diagonal if unitriangular.
/// A zero on the diagonal gives infinities.
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                               bool unitriangular = false);
/// (x, a copy of a) with a x = b, or a^T x = b.
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper = true, bool transpose = false,
                                            bool unitriangular = false);
/// L of a = L L^T, or U of a = U^T U, from the lower or the upper triangle of a, positive-definite. The gradient is
/// symmetric (Murray 2016, arXiv:1602.07527).
Tensor linalg_cholesky(const Tensor& a, bool upper = false);
/// (L or U, info): as linalg_cholesky, but another matrix is an error only with check_errors.
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper = false, bool check_errors = false);
/// x of a x = b, from what linalg_cholesky gives of a.
Tensor cholesky_solve(const Tensor& b, const Tensor& L, bool upper = false);
/// The inverse of a, from what linalg_cholesky gives of a.
Tensor cholesky_inverse(const Tensor& L, bool upper = false);

// ---- orthogonal factors
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
/// (U, S, Vh): a = U diag(S) Vh, S descending. U (..., m, m) and Vh (..., n, n), or their first k columns and rows
/// unless full_matrices. Singular vectors are unique up to their signs, and where values are apart: only a function of
/// them that does not change with those choices has a gradient, and none for the vectors that full_matrices adds.
/// `driver` is for GPUs in PyTorch, and must not be given. @throws LinAlgError for elements that are not finite
detail::ThreeTensors linalg_svd(const Tensor& a, bool full_matrices = true,
                                std::optional<std::string_view> driver = {});
/// S alone.
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver = {});
/// (U, S, V), not transposed; with compute_uv = false, U and V are zeros.
detail::ThreeTensors svd(const Tensor& a, bool some = true, bool compute_uv = true);
/// (values, vectors) of symmetric matrices. Only the lower ("L") or upper ("U") triangle is read. Values ascend.
/// Vectors are unique only as far as linalg_svd says. The gradient is symmetric.
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& a, std::string_view UPLO = "L");
/// The values alone.
Tensor linalg_eigvalsh(const Tensor& a, std::string_view UPLO = "L");
/// @throws NotImplementedError: the eigenvalues of a matrix that is not symmetric are complex numbers
std::tuple<Tensor, Tensor> linalg_eig(const Tensor& a);
Tensor linalg_eigvals(const Tensor& a);
/// (solution, residuals, rank, singular values): least squares |a x - b|, of b as in linalg_solve. Drivers: "gelsy"
/// (QR with pivots, the default), "gels" (QR, of full rank), "gelsd", "gelss" (singular values). Singular values below
/// rcond (machine precision times max(m, n)) times the largest count as 0. What a driver does not give is empty; there
/// are residuals, sums of squares for each column, where m > n and every rank is n, but not by "gelsy".
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b,
                                                        std::optional<double> rcond = {},
                                                        std::optional<std::string_view> driver = {});
/// The pseudoinverse (..., n, m), by singular values, or eigenvalues of hermitian (symmetric) matrices: those up to
/// max(atol, rtol times the largest) count as 0. rtol is machine precision times max(m, n) where neither is given, and
/// 0 beside atol; rcond is rtol. Tensors of them are one for each matrix.
Tensor linalg_pinv(const Tensor& a, const std::optional<Tensor>& atol = {}, const std::optional<Tensor>& rtol = {},
                   bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, const Tensor& rcond, bool hermitian = false);
Tensor pinverse(const Tensor& a, double rcond = 1e-15);
/// How many singular values count, as int64, by the same bounds; tol is atol.
Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Tensor>& atol = {},
                          const std::optional<Tensor>& rtol = {}, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian = false);

// ---- functions of matrices; these need no LAPACK but for negative powers and tensorinv, tensorsolve
/// a^n: of the inverse for n < 0, the identity for n = 0.
Tensor linalg_matrix_power(const Tensor& a, int64_t n);
Tensor matrix_power(const Tensor& a, int64_t n);
/// e^a by scaling, a Taylor polynomial and squaring.
Tensor linalg_matrix_exp(const Tensor& a);
Tensor matrix_exp(const Tensor& a);
/// The inverse of the linear map that a's last dimensions are the source of, its first `ind` the image.
Tensor linalg_tensorinv(const Tensor& a, int64_t ind = 2);
/// x with tensordot(a, x, x.dim()) = b; dims of a, if given, are moved to its end first.
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, detail::OptionalDims dims = {});
/// (..., n, N): the powers 0 to N - 1 of x (..., n); N is n unless given.
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N = {});
/// Sums of products along dim. Operands broadcast.
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1);
/// Other spellings of cross, diagonal (of the last two dimensions) and matmul.
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim = -1);
Tensor linalg_diagonal(const Tensor& a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor linalg_matmul(const Tensor& a, const Tensor& b);

// ---- norms, of x in `dtype` if that is given
/// (sum |x|^ord)^(1/ord) over dims, or all; ord may be 0 (how many are not 0) and infinite. Precision: see norm.
Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord = 2, detail::OptionalDims dim = {},
                          detail::Flag keepdim = false, std::optional<DType> dtype = {});
/// Of the matrices in two dimensions: "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2
/// (largest and smallest singular value), 1 and -1 (of the columns' sums of absolute values), inf and -inf (of the
/// rows').
Tensor linalg_matrix_norm(const Tensor& x, const Scalar& ord, IntArrayRef dim = {-2, -1}, detail::Flag keepdim = false,
                          std::optional<DType> dtype = {});
Tensor linalg_matrix_norm(const Tensor& x, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          detail::Flag keepdim = false, std::optional<DType> dtype = {});
/// linalg_matrix_norm where ord is given, of a matrix or two dims, else linalg_vector_norm.
Tensor linalg_norm(const Tensor& x, const std::optional<Scalar>& ord = {}, detail::OptionalDims dim = {},
                   detail::Flag keepdim = false, std::optional<DType> dtype = {});
Tensor linalg_norm(const Tensor& x, std::string_view ord, detail::OptionalDims dim = {}, detail::Flag keepdim = false,
                   std::optional<DType> dtype = {});
/// The norm p of a times that of its inverse; of p = 2 (the default) and -2 the ratio of singular values, for any
/// sizes. Infinite for a singular matrix.
Tensor linalg_cond(const Tensor& a, const std::optional<Scalar>& p = {});
Tensor linalg_cond(const Tensor& a, std::string_view p);
/// linalg_matrix_norm(x, "nuc"), by its older name.
Tensor nuclear_norm(const Tensor& x, detail::Flag keepdim = false);
Tensor nuclear_norm(const Tensor& x, IntArrayRef dim, detail::Flag keepdim = false);
/// The root of the sum of squares over dim, an older name.
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim, detail::Flag keepdim = false);

}  // namespace tandem
