// Cholesky factors of positive-definite matrices: linalg_cholesky, linalg_cholesky_ex, cholesky_solve,
// cholesky_inverse.
#include "tandem/ops/linalg/cholesky.h"

#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/solve.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, cholesky_inverse, cholesky_solve, linalg_cholesky, linalg_cholesky_ex);

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper, bool check_errors) {
  if (const Autocast cast{cast_policy::linalg_cholesky_ex, a}) return linalg_cholesky_ex(cast(a), upper, check_errors);
  static constexpr const char* kName = "linalg_cholesky_ex";
  check_square(kName, a);
  Tensor columns = to_column_major(kName, a), info = core::empty({columns.size(0)}, kInt32, columns.device());
  TANDEM_DISPATCH_HOST(columns.device(), cholesky, columns, upper, info);
  if (check_errors)
    check_lapack_info(
        "linalg_cholesky", info,
        "The factorization could not be completed because the input is not positive-definite (the leading minor "
        "of order ",
        " is not positive-definite)");
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor whole = from_column_major(columns, batch_sizes(a), a.device());
    y = upper ? whole.triu() : whole.tril();
  }
  return record_op(kName, std::tuple(y, copy_from_host(info, batch_sizes(a), a.device())), {a}, {y},
                   [upper](const BackwardContext& ctx, const Grads& dy) -> Grads {
                     const Tensor L = upper ? ctx.saved(0).mT() : ctx.saved(0), dL = upper ? dy[0].mT() : dy[0];
                     const Tensor inner = L.mT().matmul(dL).tril();
                     const Tensor both =
                         inner + inner.tril(-1).mT();  // equals 2 L^T da L, where da is the gradient of a
                     const Tensor left = linalg_solve_triangular(L.mT(), both * 0.5, /*upper=*/true);
                     return {linalg_solve_triangular(L, left, /*upper=*/false, /*left=*/false)};
                   });
}
Tensor linalg_cholesky(const Tensor& a, bool upper) {
  return std::get<0>(linalg_cholesky_ex(a, upper, /*check_errors=*/true));
}
Tensor cholesky_solve(const Tensor& b, const Tensor& L, bool upper) {
  if (const Autocast cast{cast_policy::cholesky_solve, b, L}) return cholesky_solve(cast(b), cast(L), upper);
  check_square("cholesky_solve", L);
  TANDEM_CHECK(b.dim() >= 2, "cholesky_solve: b should have at least 2 dimensions, but has ", b.dim(),
               " dimensions instead");
  TANDEM_CHECK(b.size(-2) == L.size(-1), "Incompatible matrix sizes for cholesky_solve: each A matrix is ", L.size(-1),
               " by ", L.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  const Tensor lower = upper ? L.mT() : L;
  return linalg_solve_triangular(lower.mT(), linalg_solve_triangular(lower, b, /*upper=*/false), /*upper=*/true);
}
Tensor cholesky_inverse(const Tensor& L, bool upper) {
  if (const Autocast cast{cast_policy::cholesky_inverse, L}) return cholesky_inverse(cast(L), upper);
  check_square("cholesky_inverse", L);
  return tandem::cholesky_solve(eye(L.size(-1), L.options()), L, upper);
}
Tensor Tensor::cholesky_solve(const Tensor& L, bool upper) const { return tandem::cholesky_solve(*this, L, upper); }
Tensor Tensor::cholesky_inverse(bool upper) const { return tandem::cholesky_inverse(*this, upper); }

}  // namespace tandem
