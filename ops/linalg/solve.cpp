// Solutions of linear equations: linalg_solve, linalg_solve_ex, linalg_solve_triangular, triangular_solve.
#include "tandem/ops/linalg/solve.h"

#include "tandem/ops/linalg/host_lapack.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_solve, linalg_solve_ex, linalg_solve_triangular, triangular_solve);

namespace {
/// Solves a x = b for operands with equal batch dimensions; returns (x, info).
std::tuple<Tensor, Tensor> solve_matrices(const Tensor& a, const Tensor& b) {
  static constexpr const char* kName = "linalg_solve_ex";
  const LuFactors f = factor_lu(kName, a);
  Tensor columns = to_column_major(kName, b);
  TANDEM_DISPATCH_HOST(columns.device(), lu_solve, f.lu, f.pivots, columns);
  const Tensor x = from_column_major(columns, batch_sizes(b), b.device());
  return record_op(kName, std::tuple(x, copy_from_host(f.info, batch_sizes(a), a.device())), {a, b}, {a, x},
                   [](const BackwardContext& ctx, const Grads& dy) -> Grads {
                     const Tensor db = std::get<0>(solve_matrices(ctx.saved(0).mT(), dy[0]));
                     return {ctx.needs_grad(0) ? -db.matmul(ctx.saved(1).mT()) : Tensor(), db};
                   });
}
}  // namespace
std::tuple<Tensor, Tensor> detail::solve(const char* op, const Tensor& a, const Tensor& b, bool left,
                                         bool check_errors) {
  check_product_operands(op, a, b);
  check_square(op, a);
  const bool vectors = is_vector_rhs(a, b);
  TANDEM_CHECK(left || !vectors, op, ": Incompatible shapes of A and B for the equation XA = B: B is a vector, ",
               b.sizes(), ", which is accepted if left is true only");
  const Tensor rhs = vectors ? b.unsqueeze(-1) : b;
  TANDEM_CHECK(rhs.dim() >= 2, op, ": The input tensor B must have at least 1 dimension, got a scalar");
  TANDEM_CHECK(rhs.size(left ? -2 : -1) == a.size(-1), op, ": Incompatible shapes of A and B for the equation ",
               left ? "AX = B (" : "XA = B (", a.size(-2), "x", a.size(-1), " and ", rhs.size(-2), "x", rhs.size(-1),
               ")");
  const auto [wide_a, wide_b] = broadcast_batch_dims(op, left ? a : a.mT(), left ? rhs : rhs.mT());
  auto [x, info] = solve_matrices(wide_a, wide_b);
  if (check_errors)
    check_lapack_info(op, info, "The solver failed because the input matrix is singular (diagonal element ",
                      " of U is zero)");
  if (vectors) x = reshape_result(x, batch_sizes(x, 1));
  return {left ? x : transpose_result(x), info};
}
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  if (const Autocast cast{cast_policy::linalg_solve_ex, a, b})
    return linalg_solve_ex(cast(a), cast(b), left, check_errors);
  return solve("linalg_solve_ex", a, b, left, check_errors);
}
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  if (const Autocast cast{cast_policy::linalg_solve, a, b}) return linalg_solve(cast(a), cast(b), left);
  return std::get<0>(solve("linalg_solve", a, b, left, true));
}

namespace {
/// Solves a x = b for triangular a and operands with equal batch dimensions, without checks; recorded by autograd.
Tensor solve_triangular_impl(const Tensor& a, const Tensor& b, bool upper, bool unitriangular) {
  static constexpr const char* kName = "linalg_solve_triangular";
  const Tensor factor = to_column_major(kName, a);
  Tensor columns = to_column_major(kName, b);
  TANDEM_DISPATCH_HOST(columns.device(), triangular_solve, factor, upper, unitriangular, columns);
  const Tensor x = from_column_major(columns, batch_sizes(b), b.device());
  return record_op(kName, x, {a, b}, {a, x},
                   [upper, unitriangular](const BackwardContext& ctx, const Tensor& dx) -> Grads {
                     const Tensor db = solve_triangular_impl(ctx.saved(0).mT(), dx, !upper, unitriangular);
                     Tensor da;
                     if (ctx.needs_grad(0)) {
                       da = -db.matmul(ctx.saved(1).mT());
                       da = upper ? da.triu(unitriangular ? 1 : 0) : da.tril(unitriangular ? -1 : 0);
                     }
                     return {da, db};
                   });
}
}  // namespace
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  if (const Autocast cast{cast_policy::linalg_solve_triangular, a, b})
    return linalg_solve_triangular(cast(a), cast(b), upper, left, unitriangular);
  static constexpr const char* kName = "linalg_solve_triangular";
  check_square(kName, a);
  check_matrices(kName, b, "B");
  TANDEM_CHECK(b.size(left ? -2 : -1) == a.size(-1), kName, ": Incompatible shapes of A and B for the equation ",
               left ? "AX = B (" : "XA = B (", a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  const auto [wide_a, wide_b] = broadcast_batch_dims(kName, left ? a : a.mT(), left ? b : b.mT());
  const Tensor x = solve_triangular_impl(wide_a, wide_b, left == upper, unitriangular);
  return left ? x : transpose_result(x);
}
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transpose,
                                            bool unitriangular) {
  if (const Autocast cast{cast_policy::triangular_solve, b, a})
    return triangular_solve(cast(b), cast(a), upper, transpose, unitriangular);
  check_square("triangular_solve", a);
  check_matrices("triangular_solve", b, "b");
  const auto [wide_a, wide_b] = broadcast_batch_dims("triangular_solve", a, b);
  TANDEM_CHECK(b.size(-2) == a.size(-1), "Incompatible matrix sizes for triangular_solve: each A matrix is ",
               a.size(-2), " by ", a.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  return {solve_triangular_impl(transpose ? wide_a.mT() : wide_a, wide_b, upper != transpose, unitriangular),
          wide_a.clone(MemoryFormat::Contiguous)};
}
std::tuple<Tensor, Tensor> Tensor::triangular_solve(const Tensor& a, bool upper, bool transpose,
                                                    bool unitriangular) const {
  return tandem::triangular_solve(*this, a, upper, transpose, unitriangular);
}

}  // namespace tandem
