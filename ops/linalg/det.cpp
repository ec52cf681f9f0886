// Determinants: linalg_det, det, linalg_slogdet, slogdet, logdet.
#include "tandem/ops/linalg/det.h"

#include <limits>

#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/lu.h"
#include "tandem/ops/linalg/solve.h"
#include "tandem/ops/linalg/svd.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, det, linalg_det, linalg_slogdet, logdet, slogdet);

namespace {
/// Returns the sign of the permutation: 1 for an even number of row exchanges, -1 for an odd one.
Tensor permutation_sign(const Tensor& pivots, DType dtype) {
  const Tensor own = arange(1, pivots.size(-1) + 1, TensorOptions(kInt32).device(pivots.device()));
  return ((pivots != own).to(kInt64).sum(-1) % 2 * -2 + 1).to(dtype);
}
/// Returns the product over the last dimension, which is 1 if that dimension has size 0.
Tensor prod_last_dim(const Tensor& x) {
  return x.size(-1) == 0 ? ones(batch_sizes(x, 1), x.options()) : x.cumprod(-1).select(-1, -1);
}
/// Returns the derivative of a's cofactors in direction h, for any a. With a = U S V^T and B = U^T h V, the derivative
/// is det(U) det(V) U M V^T. Off the diagonal, M_ij = -B_ji p_ij; on it, M_ii = sum over j != i of B_jj p_ij. p_ij is
/// the product of all singular values but the i-th and the j-th.
Tensor cofactors_derivative(const Tensor& a, const Tensor& h) {
  const auto [U, S, Vh] = linalg_svd(a);
  const Tensor one = eye(a.size(-1), a.options()),
               left_out = (one.unsqueeze(-2) + one.unsqueeze(-3)) != 0;  // at (i, j, k): true if k is i or j
  const Tensor p = prod_last_dim(where(left_out, Scalar(1), S.unsqueeze(-2).unsqueeze(-2))) * (1 - one);
  const Tensor sign = linalg_det(U.detach()).round() * linalg_det(Vh.detach()).round();
  const Tensor B = U.mT().matmul(h).matmul(Vh.mT());
  const Tensor M = (p * B.diagonal(0, -2, -1).unsqueeze(-2)).sum(-1).diag_embed() - B.mT() * p;
  return sign.unsqueeze(-1).unsqueeze(-1) * U.matmul(M).matmul(Vh);
}
/// Returns the cofactors of a, which may be singular. Cofactors are polynomials of a's elements, so replacing zeros on
/// U's diagonal by machine precision changes them only by rounding errors.
Tensor compute_cofactors(const Tensor& a) {
  Tensor y;
  {
    const NoGradGuard guard;
    const auto [lu, pivots, info] = linalg_lu_factor_ex(a);
    const Tensor d = lu.diagonal(0, -2, -1), missing = (d == 0).to(d.dtype()) * machine_epsilon(a.dtype());
    const Tensor value = prod_last_dim(d + missing) * permutation_sign(pivots, a.dtype());
    const Tensor rhs = scaled_identity(value, a.size(-1));
    y = linalg_lu_solve(lu + missing.diag_embed(), pivots, rhs, true, /*adjoint=*/true);
  }
  // The second derivative of a determinant is symmetric, so the gradient is the derivative of the cofactors in
  // direction dy.
  return record_op("cofactors", y, {a}, {a}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {cofactors_derivative(ctx.saved(0), dy)};
  });
}
/// Returns whether any matrix is nearly singular: an element on the diagonal of its factor U is as small as rounding
/// errors. For such matrices, solving with the LU factors gives wrong derivatives.
bool any_nearly_singular(const Tensor& a) {
  const NoGradGuard guard;
  const Tensor d = std::get<0>(linalg_lu_factor_ex(a.detach())).diagonal(0, -2, -1).abs();
  return d.numel() > 0 && (d.amin({-1}) <= d.amax({-1}) * (100 * machine_epsilon(a.dtype()))).any().item<bool>();
}
}  // namespace

Tensor linalg_det(const Tensor& a) {
  if (const Autocast cast{cast_policy::linalg_det, a}) return linalg_det(cast(a));
  static constexpr const char* kName = "linalg_det";
  check_square(kName, a);
  Tensor y;
  {
    const NoGradGuard guard;
    const LuFactors f = factor_lu(kName, a);
    y = copy_from_host(prod_last_dim(f.lu.diagonal(0, -2, -1)) * permutation_sign(f.pivots, a.dtype()), batch_sizes(a),
                       a.device());
  }
  return record_op(kName, y, {a}, {a, y}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0);
    // the determinant of a 1x1 matrix is its element
    if (a.size(-1) <= 1) return {dy.unsqueeze(-1).unsqueeze(-1).expand(a.sizes())};
    if (a.numel() == 0) return {zeros_like(a)};
    if (!is_grad_enabled() || any_nearly_singular(a)) return {dy.unsqueeze(-1).unsqueeze(-1) * compute_cofactors(a)};
    return {linalg_solve(a.mT(), scaled_identity(dy * linalg_det(a), a.size(-1)))};
  });
}
Tensor det(const Tensor& a) { return linalg_det(a); }
Tensor Tensor::det() const { return linalg_det(*this); }

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a) {
  if (const Autocast cast{cast_policy::linalg_slogdet, a}) return linalg_slogdet(cast(a));
  static constexpr const char* kName = "linalg_slogdet";
  check_square(kName, a);
  Tensor sign, value;
  {
    const NoGradGuard guard;
    const LuFactors f = factor_lu(kName, a);
    const Tensor d = f.lu.diagonal(0, -2, -1);
    sign = copy_from_host(prod_last_dim(d.sign()) * permutation_sign(f.pivots, a.dtype()), batch_sizes(a), a.device());
    value = copy_from_host(d.abs().log().sum(-1), batch_sizes(a), a.device());
  }
  return record_op(kName, std::tuple(sign, value), {a}, {a}, [](const BackwardContext& ctx, const Grads& dy) -> Grads {
    if (!dy[1].defined()) return {Tensor()};  // the gradient with respect to the sign is 0
    const Tensor a = ctx.saved(0);
    // If a is singular, the gradient is infinite or NaN. A second derivative does not exist then and throws, as in
    // PyTorch.
    return {std::get<0>(solve(kName, a.mT(), scaled_identity(dy[1], a.size(-1)), true, is_grad_enabled()))};
  });
}
std::tuple<Tensor, Tensor> slogdet(const Tensor& a) { return linalg_slogdet(a); }
std::tuple<Tensor, Tensor> Tensor::slogdet() const { return linalg_slogdet(*this); }
Tensor logdet(const Tensor& a) {
  const auto [sign, value] = linalg_slogdet(a);
  return where(sign.detach() == -1, Scalar(std::numeric_limits<double>::quiet_NaN()), value);
}
Tensor Tensor::logdet() const { return tandem::logdet(*this); }

}  // namespace tandem
