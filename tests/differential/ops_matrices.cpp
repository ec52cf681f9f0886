// Op table of the differential tests: matrix products and decompositions.
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {
namespace {

using std::string;

// Squares eigenvectors and singular vectors before they are compared, because their signs are not unique.
Tensors squared(const std::tuple<Tensor, Tensor>& t) {
  const auto& [w, v] = t;
  return {w, v * v};
}
Tensors squared(const std::tuple<Tensor, Tensor, Tensor>& t) {
  const auto& [u, s, v] = t;
  return {u * u, s, v * v};
}
Tensors both_squared(const std::tuple<Tensor, Tensor>& t) {
  const auto& [q, r] = t;
  return {q * q, r * r};
}

}  // namespace

// clang-format off
void add_matrices(OpTable& table) {
  OP("linalg_det", (Tensor a), tandem::linalg_det(a))
  OP("linalg_slogdet", (Tensor a), tandem::linalg_slogdet(a))
  OP("logdet", (Tensor a), tandem::logdet(a))
  OP("linalg_inv", (Tensor a), tandem::linalg_inv(a))
  OP("linalg_solve", (Tensor a, Tensor b), tandem::linalg_solve(a, b))
  OP("linalg_solve_triangular", (Tensor a, Tensor b, bool upper, bool unitriangular),
     tandem::linalg_solve_triangular(a, b, upper, true, unitriangular))
  OP("linalg_lu_factor", (Tensor a), tandem::linalg_lu_factor(a))
  OP("linalg_cholesky", (Tensor a, bool upper), tandem::linalg_cholesky(a, upper))
  OP("cholesky_solve", (Tensor b, Tensor a), tandem::cholesky_solve(b, tandem::linalg_cholesky(a)))
  OP("linalg_qr", (Tensor a), both_squared(tandem::linalg_qr(a)))
  OP("linalg_eigh", (Tensor a), squared(tandem::linalg_eigh(a)))
  OP("linalg_eigvalsh", (Tensor a), tandem::linalg_eigvalsh(a))
  OP("linalg_svd", (Tensor a), squared(tandem::linalg_svd(a, false)))
  OP("linalg_svdvals", (Tensor a), tandem::linalg_svdvals(a))
  OP("linalg_pinv", (Tensor a), tandem::linalg_pinv(a))
  OP("linalg_lstsq", (Tensor a, Tensor b), std::get<0>(tandem::linalg_lstsq(a, b)))
  OP("linalg_matrix_rank", (Tensor a), tandem::linalg_matrix_rank(a))
  OP("linalg_matrix_power", (Tensor a, int64_t n), tandem::linalg_matrix_power(a, n))
  OP("linalg_matrix_exp", (Tensor a), tandem::linalg_matrix_exp(a))
  OP("linalg_vector_norm", (Tensor x, Scalar ord, Ints dims, bool keepdim), tandem::linalg_vector_norm(x, ord, dims.empty() ? detail::OptionalDims() : dims, keepdim))
  OP("linalg_matrix_norm", (Tensor x, Scalar ord, bool keepdim), tandem::linalg_matrix_norm(x, ord, {-2, -1}, keepdim))
  OP("linalg_matrix_norm/named", (Tensor x, string ord, bool keepdim), tandem::linalg_matrix_norm(x, ord, {-2, -1}, keepdim))
  OP("linalg_cond", (Tensor a), tandem::linalg_cond(a))
  OP("linalg_cross", (Tensor x, Tensor y), tandem::linalg_cross(x, y))
  OP("linalg_vecdot", (Tensor x, Tensor y, int64_t dim), tandem::linalg_vecdot(x, y, dim))
  OP("addmv", (Tensor bias, Tensor x, Tensor y, double beta, double alpha), bias.addmv(x, y, beta, alpha))
  OP("addr", (Tensor bias, Tensor x, Tensor y, double beta, double alpha), bias.addr(x, y, beta, alpha))
  OP("baddbmm", (Tensor bias, Tensor x, Tensor y, double beta, double alpha), bias.baddbmm(x, y, beta, alpha))
  OP("addbmm", (Tensor bias, Tensor x, Tensor y, double beta, double alpha), bias.addbmm(x, y, beta, alpha))
  OP("einsum", (string equation, Tensors operands), tandem::einsum(equation, operands))
  OP("tensordot", (Tensor x, Tensor y), tandem::tensordot(x, y, {-1}, {0}))
  OP("cdist", (Tensor x, Tensor y, double p), tandem::cdist(x, y, p))
  OP("cosine_similarity", (Tensor x, Tensor y, int64_t dim), tandem::cosine_similarity(x, y, dim))
}
// clang-format on

}  // namespace tandem::differential
