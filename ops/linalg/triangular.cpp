// Solutions by triangular matrices, and the factors of positive-definite ones.
#include "tandem/autograd/record.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/linalg/host.h"
#include "tandem/ops/linalg/linalg.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor detail::solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unitriangular) {
  static constexpr const char* kName = "linalg_solve_triangular";
  const Tensor factor = to_columns(kName, a);
  Tensor columns = to_columns(kName, b);
  TANDEM_HOST_DISPATCH(columns.device(), triangular_solve, factor, upper, unitriangular, columns);
  const Tensor x = from_columns(columns, leading_sizes(b), b.device());
  return record(kName, x, {a, b}, {a, x}, [upper, unitriangular](const Context& ctx, const Tensor& dx) -> Grads {
    const Tensor db = solve_triangle(ctx.saved(0).mT(), dx, !upper, unitriangular);
    Tensor da;
    if (ctx.needs_grad(0)) {
      da = -db.matmul(ctx.saved(1).mT());
      da = upper ? da.triu(unitriangular ? 1 : 0) : da.tril(unitriangular ? -1 : 0);
    }
    return {da, db};
  });
}
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  static constexpr const char* kName = "linalg_solve_triangular";
  check_square(kName, a);
  check_matrices(kName, b);
  TANDEM_CHECK(b.size(left ? -2 : -1) == a.size(-1), kName, ": a is ", a.sizes(), " and b ", b.sizes(),
               "; accepted: (..., n, n) and (..., n, k), or (..., k, n) unless left");
  const auto [wide_a, wide_b] = broadcast_matrices(kName, left ? a : a.mT(), left ? b : b.mT());
  const Tensor x = solve_triangle(wide_a, wide_b, left == upper, unitriangular);
  return left ? x : transpose_result(x);
}
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transpose,
                                            bool unitriangular) {
  check_square("triangular_solve", a);
  check_matrices("triangular_solve", b);
  const auto [wide_a, wide_b] = broadcast_matrices("triangular_solve", a, b);
  TANDEM_CHECK(b.size(-2) == a.size(-1), "triangular_solve: b is ", b.sizes(), " and a ", a.sizes(),
               "; accepted: (..., n, k) and (..., n, n)");
  return {solve_triangle(transpose ? wide_a.mT() : wide_a, wide_b, upper != transpose, unitriangular),
          wide_a.clone(MemoryFormat::Contiguous)};
}
std::tuple<Tensor, Tensor> Tensor::triangular_solve(const Tensor& a, bool upper, bool transpose,
                                                    bool unitriangular) const {
  return tandem::triangular_solve(*this, a, upper, transpose, unitriangular);
}

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper, bool check_errors) {
  static constexpr const char* kName = "linalg_cholesky_ex";
  check_square(kName, a);
  Tensor columns = to_columns(kName, a), info = core::empty({columns.size(0)}, kInt32, columns.device());
  TANDEM_HOST_DISPATCH(columns.device(), cholesky, columns, upper, info);
  if (check_errors)
    check_info("linalg_cholesky", info,
               "is not positive-definite: the leading minor of the order that info says is not positive");
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor whole = from_columns(columns, leading_sizes(a), a.device());
    y = upper ? whole.triu() : whole.tril();
  }
  return record(kName, std::tuple(y, from_host(info, leading_sizes(a), a.device())), {a}, {y},
                [upper](const Context& ctx, const Grads& dy) -> Grads {
                  const Tensor L = upper ? ctx.saved(0).mT() : ctx.saved(0), dL = upper ? dy[0].mT() : dy[0];
                  const Tensor inner = L.mT().matmul(dL).tril();
                  const Tensor both = inner + inner.tril(-1).mT();  // L^T a^- L, times 2 but for the diagonal
                  const Tensor left = linalg_solve_triangular(L.mT(), both * 0.5, /*upper=*/true);
                  return {linalg_solve_triangular(L, left, /*upper=*/false, /*left=*/false)};
                });
}
Tensor linalg_cholesky(const Tensor& a, bool upper) {
  return std::get<0>(linalg_cholesky_ex(a, upper, /*check_errors=*/true));
}
Tensor cholesky_solve(const Tensor& b, const Tensor& L, bool upper) {
  check_square("cholesky_solve", L);
  TANDEM_CHECK(b.dim() >= 2 && b.size(-2) == L.size(-1), "cholesky_solve: b is ", b.sizes(), " and L ", L.sizes(),
               "; accepted: (..., n, k) and (..., n, n)");
  const Tensor lower = upper ? L.mT() : L;
  return linalg_solve_triangular(lower.mT(), linalg_solve_triangular(lower, b, /*upper=*/false), /*upper=*/true);
}
Tensor cholesky_inverse(const Tensor& L, bool upper) {
  check_square("cholesky_inverse", L);
  return tandem::cholesky_solve(eye(L.size(-1), L.options()), L, upper);
}
Tensor Tensor::cholesky_solve(const Tensor& L, bool upper) const { return tandem::cholesky_solve(*this, L, upper); }
Tensor Tensor::cholesky_inverse(bool upper) const { return tandem::cholesky_inverse(*this, upper); }

}  // namespace tandem
