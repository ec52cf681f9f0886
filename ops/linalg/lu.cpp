// LU factors: linalg_lu, linalg_lu_factor, linalg_lu_factor_ex, lu_unpack, linalg_lu_solve, lu_solve.
#include "tandem/ops/linalg/lu.h"

#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/solve.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_lu, linalg_lu_factor, linalg_lu_factor_ex, linalg_lu_solve, lu_solve, lu_unpack);

namespace {

/// Returns the row order that the pivots describe: row i of P^T a is row order[i] of a.
Tensor compute_row_permutation(const Tensor& pivots, int64_t rows) {
  const NoGradGuard guard;
  const Tensor host = contiguous_detached(pivots.to(get_host_device(pivots)));
  const Tensor flat = core::try_view(host, {numel_of(batch_sizes(pivots, 1)), pivots.size(-1)});
  Tensor order = core::empty({flat.size(0), rows}, kInt64, flat.device());
  TANDEM_DISPATCH_HOST(flat.device(), pivots_to_permutation, flat, order);
  return copy_from_host(order, batch_sizes(pivots, 1), pivots.device());
}
/// Returns the permutation matrix P (..., m, m): column i has its 1 in row order[i].
Tensor pivots_to_permutation_matrix(const Tensor& pivots, int64_t rows, DType dtype) {
  const Tensor order = compute_row_permutation(pivots, rows);
  const Tensor positions = arange(rows, TensorOptions(kInt64).device(order.device()));
  return (order.unsqueeze(-2) == positions.unsqueeze(-1)).to(dtype);
}
Tensor unpack_lower(const Tensor& lu) {
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  return lu.narrow(-1, 0, k).tril(-1) + eye(m, k, lu.options());
}
Tensor unpack_upper(const Tensor& lu) { return lu.narrow(-2, 0, std::min(lu.size(-2), lu.size(-1))).triu(); }

/// Returns the gradient of P^T a. gL is the gradient of L below the diagonal, gU the gradient of U on and above it.
Tensor lu_backward(const Tensor& L, const Tensor& U, const Tensor& gL, const Tensor& gU) {
  const int64_t m = L.size(-2), n = U.size(-1), k = std::min(m, n);
  if (m > k) {  // a is tall: the last m - k rows of L are L2 = a2 U^-1; recurses for the other rows
    const Tensor g2 = gL.narrow(-2, k, m - k), L2 = L.narrow(-2, k, m - k);
    const Tensor below = linalg_solve_triangular(U.mT(), g2, /*upper=*/false, /*left=*/false);
    const Tensor rest = gU - L2.mT().matmul(below);
    return cat({lu_backward(L.narrow(-2, 0, k), U, gL.narrow(-2, 0, k), rest), below}, -2);
  }
  if (n > k) {  // a is wide: the last n - k columns of U are U2 = L^-1 a2; recurses for the other columns
    const Tensor g2 = gU.narrow(-1, k, n - k), U2 = U.narrow(-1, k, n - k);
    const Tensor right_columns =
        linalg_solve_triangular(L.mT(), g2, /*upper=*/true, /*left=*/true, /*unitriangular=*/true);
    const Tensor rest = gL - right_columns.matmul(U2.mT());
    return cat({lu_backward(L, U.narrow(-1, 0, k), rest, gU.narrow(-1, 0, k)), right_columns}, -1);
  }
  const Tensor inner = L.mT().matmul(gL).tril(-1) + gU.matmul(U.mT()).triu();
  const Tensor left = linalg_solve_triangular(L.mT(), inner, /*upper=*/true, /*left=*/true, /*unitriangular=*/true);
  return linalg_solve_triangular(U.mT(), left, /*upper=*/false, /*left=*/false);
}

}  // namespace

ThreeTensors linalg_lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  if (const Autocast cast{cast_policy::linalg_lu_factor_ex, a})
    return linalg_lu_factor_ex(cast(a), pivot, check_errors);
  static constexpr const char* kName = "linalg_lu_factor_ex";
  check_matrices(kName, a);
  TANDEM_CHECK(pivot, kName, ": LU without pivoting is not implemented; pass pivot = true");
  const LuFactors f = factor_lu(kName, a);
  const IntArrayRef leading = batch_sizes(a);
  const Tensor lu = from_column_major(f.lu, leading, a.device()),
               pivots = copy_from_host(f.pivots, leading, a.device());
  const Tensor info = copy_from_host(f.info, leading, a.device());
  if (check_errors)
    check_lapack_info(kName, f.info, "Diagonal element ",
                      " of U is zero and using it on lu_solve would result in a division by zero");
  return record_op(
      kName, std::tuple(lu, pivots, info), {a}, {lu, pivots}, [](const BackwardContext& ctx, const Grads& dy) -> Grads {
        const Tensor lu = ctx.saved(0), p = pivots_to_permutation_matrix(ctx.saved(1), lu.size(-2), lu.dtype());
        const int64_t k = std::min(lu.size(-2), lu.size(-1));
        const Tensor inner = lu_backward(unpack_lower(lu), unpack_upper(lu), dy[0].narrow(-1, 0, k).tril(-1),
                                         dy[0].narrow(-2, 0, k).triu());
        return {p.matmul(inner)};
      });
}
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = linalg_lu_factor_ex(a, pivot, /*check_errors=*/true);
  return {lu, pivots};
}
ThreeTensors lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  if (const Autocast cast{cast_policy::lu_unpack, LU}) return lu_unpack(cast(LU), pivots, unpack_data, unpack_pivots);
  check_matrices("lu_unpack", LU);
  if (unpack_pivots) {
    const Shape expected = append_sizes(batch_sizes(LU), {std::min(LU.size(-2), LU.size(-1))});
    TANDEM_CHECK(pivots.dtype() == kInt32,
                 "lu_unpack: LU_pivots is expected to be a contiguous tensor of int32 dtype, got ", pivots.dtype());
    TANDEM_CHECK(pivots.device() == LU.device(),
                 "lu_unpack: Expected LU_pivots and LU_data to be on the same device, but got ", pivots.device(),
                 " and ", LU.device());
    TANDEM_CHECK(pivots.sizes() == IntArrayRef(expected), "lu_unpack: Expected LU_pivots to have shape ", expected,
                 " but got ", pivots.sizes(), " instead");
  }
  const auto none = [&] { return empty({0}, LU.options()); };
  return {unpack_pivots ? pivots_to_permutation_matrix(pivots, LU.size(-2), LU.dtype()) : none(),
          unpack_data ? unpack_lower(LU) : none(), unpack_data ? unpack_upper(LU) : none()};
}
ThreeTensors linalg_lu(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = linalg_lu_factor_ex(a, pivot);
  return lu_unpack(lu, pivots);
}
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  if (const Autocast cast{cast_policy::linalg_lu_solve, LU, pivots, b})
    return linalg_lu_solve(cast(LU), cast(pivots), cast(b), left, adjoint);
  check_square("linalg_lu_solve", LU);
  if (!left) return transpose_result(linalg_lu_solve(LU, pivots, b.mT(), true, !adjoint));
  TANDEM_CHECK(b.dim() >= 2, "linalg_lu_solve: The input tensor B must have at least 2 dimensions, got ", b.sizes());
  TANDEM_CHECK(b.size(-2) == LU.size(-1), "linalg_lu_solve: Incompatible shapes of A and B for the equation AX = B (",
               LU.size(-2), "x", LU.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  const Tensor p = std::get<0>(lu_unpack(LU, pivots, false, true));
  if (!adjoint)
    return linalg_solve_triangular(LU, linalg_solve_triangular(LU, p.mT().matmul(b), false, true, true), true);
  const Tensor inner = linalg_solve_triangular(LU.mT(), b, /*upper=*/false);
  return p.matmul(linalg_solve_triangular(LU.mT(), inner, true, true, /*unitriangular=*/true));
}
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots) { return linalg_lu_solve(LU, pivots, b); }
Tensor Tensor::lu_solve(const Tensor& LU, const Tensor& pivots) const { return linalg_lu_solve(LU, pivots, *this); }

}  // namespace tandem
