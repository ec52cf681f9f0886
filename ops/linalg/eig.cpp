// Eigenvalues and eigenvectors: linalg_eigh and linalg_eigvalsh for symmetric matrices; linalg_eig and linalg_eigvals.
#include "tandem/ops/linalg/eig.h"

#include "tandem/ops/linalg/host_lapack.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_eig, linalg_eigh, linalg_eigvals, linalg_eigvalsh);

namespace {
std::pair<Tensor, Tensor> compute_eigh(const char* op, const Tensor& a, std::string_view uplo, bool vectors) {
  check_square(op, a);
  const bool upper = uplo == "U" || uplo == "u";
  TANDEM_CHECK(upper || uplo == "L" || uplo == "l", op, ": Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  Tensor columns = to_column_major(op, a), w = core::empty({columns.size(0), a.size(-1)}, a.dtype(), columns.device());
  Tensor info = core::empty({columns.size(0)}, kInt32, columns.device());
  if (a.numel() > 0) {
    TANDEM_DISPATCH_HOST(columns.device(), eigh, columns, upper, vectors, w, info);
    check_lapack_info(op, info,
                      "The algorithm failed to converge because the input matrix contained non-finite values, is "
                      "ill-conditioned or has too many repeated eigenvalues (error code: ",
                      ")");
  }
  return {copy_from_host(w, batch_sizes(a), a.device()), from_column_major(columns, batch_sizes(a), a.device())};
}
}  // namespace
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& a, std::string_view UPLO) {
  if (const Autocast cast{cast_policy::linalg_eigh, a}) return linalg_eigh(cast(a), UPLO);
  const auto [w, v] = compute_eigh("linalg_eigh", a, UPLO, true);
  return record_op(
      "linalg_eigh", std::tuple(w, v), {a}, {w, v}, [](const BackwardContext& ctx, const Grads& dy) -> Grads {
        const Tensor w = ctx.saved(0), v = ctx.saved(1);
        Tensor inner;
        if (dy[0].defined()) inner = dy[0].diag_embed();
        if (dy[1].defined()) {
          // Eigenvectors stay orthonormal, so only the skew-symmetric part of V^T dV contributes.
          const Tensor vt_dv = v.mT().matmul(dy[1]), skew = (vt_dv - vt_dv.mT()) * 0.5 / pairwise_differences(w);
          inner = inner.defined() ? inner + skew : skew;
        }
        return {v.matmul(inner).matmul(v.mT())};
      });
}
Tensor linalg_eigvalsh(const Tensor& a, std::string_view UPLO) {
  if (const Autocast cast{cast_policy::linalg_eigvalsh, a}) return linalg_eigvalsh(cast(a), UPLO);
  if (autograd::any_requires_grad({a})) return std::get<0>(linalg_eigh(a, UPLO));
  return compute_eigh("linalg_eigvalsh", a, UPLO, false).first;
}
std::tuple<Tensor, Tensor> linalg_eig(const Tensor& a) { return {linalg_eigvals(a), Tensor()}; }
Tensor linalg_eigvals(const Tensor&) {
  TANDEM_CHECK_AS(NotImplementedError, false,
                  "linalg_eig and linalg_eigvals are not implemented: eigenvalues of a general matrix are complex, and "
                  "there are no complex dtypes; use linalg_eigh for a symmetric matrix");
  return {};
}

}  // namespace tandem
