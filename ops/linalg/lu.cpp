// LU factors, and what is found by them: solutions, inverses, determinants.
#include <limits>

#include "tandem/autograd/record.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/linalg/host.h"
#include "tandem/ops/linalg/linalg.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/reduce/statistics.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
namespace {

constexpr const char* kSingular = "is singular: an element of U's diagonal, counted from 1 by info, is zero";

/// The order of rows that pivots mean: row i of P^T a is row order[i] of a.
Tensor order_of(const Tensor& pivots, int64_t rows) {
  const NoGradGuard guard;
  const Tensor host = contiguous_detached(pivots.to(host_of(pivots)));
  const Tensor flat = core::try_view(host, {numel_of(leading_sizes(pivots, 1)), pivots.size(-1)});
  Tensor order = core::empty({flat.size(0), rows}, kInt64, flat.device());
  TANDEM_HOST_DISPATCH(flat.device(), row_order, flat, order);
  return from_host(order, leading_sizes(pivots, 1), pivots.device());
}
/// P (..., m, m): column i has its one in row order[i].
Tensor permutation_of(const Tensor& pivots, int64_t rows, DType dtype) {
  const Tensor order = order_of(pivots, rows);
  const Tensor places = arange(rows, TensorOptions(kInt64).device(order.device()));
  return (order.unsqueeze(-2) == places.unsqueeze(-1)).to(dtype);
}
Tensor lower_of(const Tensor& lu) {
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  return lu.narrow(-1, 0, k).tril(-1) + eye(m, k, lu.options());
}
Tensor upper_of(const Tensor& lu) { return lu.narrow(-2, 0, std::min(lu.size(-2), lu.size(-1))).triu(); }

/// The gradient of P^T a, from those of L (below the diagonal) and U (on it and above).
Tensor lu_backward(const Tensor& L, const Tensor& U, const Tensor& gL, const Tensor& gU) {
  const int64_t m = L.size(-2), n = U.size(-1), k = std::min(m, n);
  if (m > k) {  // L2 = a2 U^-1, and the rest of a square matrix
    const Tensor g2 = gL.narrow(-2, k, m - k), L2 = L.narrow(-2, k, m - k);
    const Tensor below = linalg_solve_triangular(U.mT(), g2, /*upper=*/false, /*left=*/false);
    const Tensor rest = gU - L2.mT().matmul(below);
    return cat({lu_backward(L.narrow(-2, 0, k), U, gL.narrow(-2, 0, k), rest), below}, -2);
  }
  if (n > k) {  // U2 = L^-1 a2
    const Tensor g2 = gU.narrow(-1, k, n - k), U2 = U.narrow(-1, k, n - k);
    const Tensor beside = linalg_solve_triangular(L.mT(), g2, /*upper=*/true, /*left=*/true, /*unitriangular=*/true);
    const Tensor rest = gL - beside.matmul(U2.mT());
    return cat({lu_backward(L, U.narrow(-1, 0, k), rest, gU.narrow(-1, 0, k)), beside}, -1);
  }
  const Tensor inner = L.mT().matmul(gL).tril(-1) + gU.matmul(U.mT()).triu();
  const Tensor left = linalg_solve_triangular(L.mT(), inner, /*upper=*/true, /*left=*/true, /*unitriangular=*/true);
  return linalg_solve_triangular(U.mT(), left, /*upper=*/false, /*left=*/false);
}

}  // namespace

ThreeTensors linalg_lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  static constexpr const char* kName = "linalg_lu_factor_ex";
  check_matrices(kName, a);
  TANDEM_CHECK(pivot, kName, ": pivot is false; accepted: true, factors without pivots are for GPUs only in PyTorch");
  const LuFactors f = factor_lu(kName, a);
  const IntArrayRef leading = leading_sizes(a);
  const Tensor lu = from_columns(f.lu, leading, a.device()), pivots = from_host(f.pivots, leading, a.device());
  const Tensor info = from_host(f.info, leading, a.device());
  if (check_errors) check_info(kName, f.info, kSingular);
  return record(
      kName, std::tuple(lu, pivots, info), {a}, {lu, pivots}, [](const Context& ctx, const Grads& dy) -> Grads {
        const Tensor lu = ctx.saved(0), p = permutation_of(ctx.saved(1), lu.size(-2), lu.dtype());
        const int64_t k = std::min(lu.size(-2), lu.size(-1));
        const Tensor inner =
            lu_backward(lower_of(lu), upper_of(lu), dy[0].narrow(-1, 0, k).tril(-1), dy[0].narrow(-2, 0, k).triu());
        return {p.matmul(inner)};
      });
}
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = linalg_lu_factor_ex(a, pivot, /*check_errors=*/true);
  return {lu, pivots};
}
ThreeTensors lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  check_matrices("lu_unpack", LU);
  TANDEM_CHECK(!unpack_pivots ||
                   (pivots.dtype() == kInt32 && pivots.device() == LU.device() &&
                    pivots.sizes() == IntArrayRef(joined(leading_sizes(LU), {std::min(LU.size(-2), LU.size(-1))}))),
               "lu_unpack: LU is ", LU.sizes(), " and pivots ", pivots.dtype(), pivots.sizes(),
               "; accepted: (..., m, n), and int32 (..., min(m, n)) on its device");
  const auto none = [&] { return empty({0}, LU.options()); };
  return {unpack_pivots ? permutation_of(pivots, LU.size(-2), LU.dtype()) : none(), unpack_data ? lower_of(LU) : none(),
          unpack_data ? upper_of(LU) : none()};
}
ThreeTensors linalg_lu(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = linalg_lu_factor_ex(a, pivot);
  return lu_unpack(lu, pivots);
}
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  check_square("linalg_lu_solve", LU);
  if (!left) return transpose_result(linalg_lu_solve(LU, pivots, b.mT(), true, !adjoint));
  TANDEM_CHECK(b.dim() >= 2 && b.size(-2) == LU.size(-1), "linalg_lu_solve: LU is ", LU.sizes(), " and b ", b.sizes(),
               "; accepted: (..., n, n) and (..., n, k), or (..., k, n) unless left");
  const Tensor p = std::get<0>(lu_unpack(LU, pivots, false, true));
  if (!adjoint)
    return linalg_solve_triangular(LU, linalg_solve_triangular(LU, p.mT().matmul(b), false, true, true), true);
  const Tensor inner = linalg_solve_triangular(LU.mT(), b, /*upper=*/false);
  return p.matmul(linalg_solve_triangular(LU.mT(), inner, true, true, /*unitriangular=*/true));
}
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots) { return linalg_lu_solve(LU, pivots, b); }

namespace {
/// x of a x = b with one batch of both, and info.
std::tuple<Tensor, Tensor> solve_matrices(const Tensor& a, const Tensor& b) {
  static constexpr const char* kName = "linalg_solve_ex";
  const LuFactors f = factor_lu(kName, a);
  Tensor columns = to_columns(kName, b);
  TANDEM_HOST_DISPATCH(columns.device(), lu_solve, f.lu, f.pivots, columns);
  const Tensor x = from_columns(columns, leading_sizes(b), b.device());
  return record(kName, std::tuple(x, from_host(f.info, leading_sizes(a), a.device())), {a, b}, {a, x},
                [](const Context& ctx, const Grads& dy) -> Grads {
                  const Tensor db = std::get<0>(solve_matrices(ctx.saved(0).mT(), dy[0]));
                  return {ctx.needs_grad(0) ? -db.matmul(ctx.saved(1).mT()) : Tensor(), db};
                });
}
std::tuple<Tensor, Tensor> solve(const char* op, const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  check_operands(op, a, b);
  check_square(op, a);
  const bool vectors = is_vector_side(a, b);
  TANDEM_CHECK(left || !vectors, op, ": a is ", a.sizes(), " and b ", b.sizes(),
               "; vectors are accepted from the left only");
  const Tensor sides = vectors ? b.unsqueeze(-1) : b;
  TANDEM_CHECK(sides.dim() >= 2 && sides.size(left ? -2 : -1) == a.size(-1), op, ": a is ", a.sizes(), " and b ",
               b.sizes(), "; accepted: (..., n, n), and (..., n, k) or (..., n), unless left (..., k, n)");
  const auto [wide_a, wide_b] = broadcast_matrices(op, left ? a : a.mT(), left ? sides : sides.mT());
  auto [x, info] = solve_matrices(wide_a, wide_b);
  if (check_errors) check_info(op, info, kSingular);
  if (vectors) x = reshape_result(x, leading_sizes(x, 1));
  return {left ? x : transpose_result(x), info};
}
}  // namespace
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  return solve("linalg_solve_ex", a, b, left, check_errors);
}
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  return std::get<0>(solve("linalg_solve", a, b, left, true));
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors) {
  static constexpr const char* kName = "linalg_inv_ex";
  check_square(kName, a);
  const LuFactors f = factor_lu(kName, a);
  const int64_t n = a.size(-1);
  Tensor columns;
  {
    const NoGradGuard guard;
    columns = eye(n, TensorOptions(a.dtype()).device(f.lu.device()))
                  .expand({f.lu.size(0), n, n})
                  .clone(MemoryFormat::Contiguous);
  }
  TANDEM_HOST_DISPATCH(columns.device(), lu_solve, f.lu, f.pivots, columns);
  if (check_errors) check_info(kName, f.info, kSingular);
  const Tensor y = from_columns(columns, leading_sizes(a), a.device());
  return record(kName, std::tuple(y, from_host(f.info, leading_sizes(a), a.device())), {a}, {y},
                [](const Context& ctx, const Grads& dy) -> Grads {
                  const Tensor t = ctx.saved(0).mT();
                  return {-t.matmul(dy[0]).matmul(t)};
                });
}
Tensor linalg_inv(const Tensor& a) { return std::get<0>(linalg_inv_ex(a, /*check_errors=*/true)); }
Tensor inverse(const Tensor& a) { return linalg_inv(a); }
Tensor Tensor::inverse() const { return linalg_inv(*this); }

namespace {
/// 1 or -1: by how many rows were exchanged.
Tensor parity_of(const Tensor& pivots, DType dtype) {
  const Tensor own = arange(1, pivots.size(-1) + 1, TensorOptions(kInt32).device(pivots.device()));
  return ((pivots != own).to(kInt64).sum(-1) % 2 * -2 + 1).to(dtype);
}
/// Over the last dimension; of none 1.
Tensor product_of(const Tensor& x) {
  return x.size(-1) == 0 ? ones(leading_sizes(x, 1), x.options()) : x.cumprod(-1).select(-1, -1);
}
double precision_of(const Tensor& a) {
  return a.dtype() == kFloat32 ? double(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
}
/// The derivative of a's cofactors in direction h, for any a. With a = U S V^T and B = U^T h V, the derivative is
/// det(U) det(V) U M V^T, where M_ij = -B_ji p_ij beside the diagonal, M_ii = sum over j != i of B_jj p_ij, and p_ij is
/// the product of the singular values other than the i-th and the j-th.
Tensor cofactors_along(const Tensor& a, const Tensor& h) {
  const auto [U, S, Vh] = linalg_svd(a);
  const Tensor one = eye(a.size(-1), a.options()),
               left_out = (one.unsqueeze(-2) + one.unsqueeze(-3)) != 0;  // (i, j, k)
  const Tensor p = product_of(where(left_out, Scalar(1), S.unsqueeze(-2).unsqueeze(-2))) * (1 - one);
  const Tensor sign = linalg_det(U.detach()).round() * linalg_det(Vh.detach()).round();
  const Tensor B = U.mT().matmul(h).matmul(Vh.mT());
  const Tensor M = (p * B.diagonal(0, -2, -1).unsqueeze(-2)).sum(-1).diag_embed() - B.mT() * p;
  return sign.unsqueeze(-1).unsqueeze(-1) * U.matmul(M).matmul(Vh);
}
/// The cofactors, of singular matrices too: they are polynomials of a's elements, so that a U whose zeros are replaced
/// by machine precision gives them up to rounding.
Tensor cofactors(const Tensor& a) {
  Tensor y;
  {
    const NoGradGuard guard;
    const auto [lu, pivots, info] = linalg_lu_factor_ex(a);
    const Tensor d = lu.diagonal(0, -2, -1), missing = (d == 0).to(d.dtype()) * precision_of(a);
    const Tensor value = product_of(d + missing) * parity_of(pivots, a.dtype());
    const Tensor sides = times_identity(value, a.size(-1));
    y = linalg_lu_solve(lu + missing.diag_embed(), pivots, sides, true, /*adjoint=*/true);
  }
  // A determinant's second derivative is symmetric: the gradient is the derivative in the gradient's direction.
  return record("cofactors", y, {a}, {a},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {cofactors_along(ctx.saved(0), dy)}; });
}
/// Whether rounding decides an element of some U's diagonal: then solving by the factors gives no derivatives.
bool any_nearly_singular(const Tensor& a) {
  const NoGradGuard guard;
  const Tensor d = std::get<0>(linalg_lu_factor_ex(a.detach())).diagonal(0, -2, -1).abs();
  return d.numel() > 0 && (d.amin({-1}) <= d.amax({-1}) * (100 * precision_of(a))).any().item<bool>();
}
}  // namespace

Tensor linalg_det(const Tensor& a) {
  static constexpr const char* kName = "linalg_det";
  check_square(kName, a);
  Tensor y;
  {
    const NoGradGuard guard;
    const LuFactors f = factor_lu(kName, a);
    y = from_host(product_of(f.lu.diagonal(0, -2, -1)) * parity_of(f.pivots, a.dtype()), leading_sizes(a), a.device());
  }
  return record(kName, y, {a}, {a, y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0);
    if (a.size(-1) <= 1)
      return {dy.unsqueeze(-1).unsqueeze(-1).expand(a.sizes())};  // the determinant of one element is the element
    if (a.numel() == 0) return {zeros_like(a)};
    if (!is_grad_enabled() || any_nearly_singular(a)) return {dy.unsqueeze(-1).unsqueeze(-1) * cofactors(a)};
    return {linalg_solve(a.mT(), times_identity(dy * linalg_det(a), a.size(-1)))};
  });
}
Tensor det(const Tensor& a) { return linalg_det(a); }
Tensor Tensor::det() const { return linalg_det(*this); }

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a) {
  static constexpr const char* kName = "linalg_slogdet";
  check_square(kName, a);
  Tensor sign, value;
  {
    const NoGradGuard guard;
    const LuFactors f = factor_lu(kName, a);
    const Tensor d = f.lu.diagonal(0, -2, -1);
    sign = from_host(product_of(d.sign()) * parity_of(f.pivots, a.dtype()), leading_sizes(a), a.device());
    value = from_host(d.abs().log().sum(-1), leading_sizes(a), a.device());
  }
  return record(kName, std::tuple(sign, value), {a}, {a}, [](const Context& ctx, const Grads& dy) -> Grads {
    if (!dy[1].defined()) return {Tensor()};  // the sign is flat
    const Tensor a = ctx.saved(0);
    // Infinite or NaN if a is singular; a second derivative does not exist there, and throws, as in PyTorch.
    return {std::get<0>(solve(kName, a.mT(), times_identity(dy[1], a.size(-1)), true, is_grad_enabled()))};
  });
}
std::tuple<Tensor, Tensor> slogdet(const Tensor& a) { return linalg_slogdet(a); }
std::tuple<Tensor, Tensor> Tensor::slogdet() const { return linalg_slogdet(*this); }
Tensor logdet(const Tensor& a) {
  const auto [sign, value] = linalg_slogdet(a);
  return where(sign.detach() == -1, Scalar(std::numeric_limits<double>::quiet_NaN()), value);
}
Tensor Tensor::logdet() const { return tandem::logdet(*this); }
Tensor Tensor::lu_solve(const Tensor& LU, const Tensor& pivots) const { return linalg_lu_solve(LU, pivots, *this); }

}  // namespace tandem
