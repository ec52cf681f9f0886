// QR factors and Householder reflectors: linalg_qr, geqrf, linalg_householder_product, orgqr, ormqr.
#include "tandem/ops/linalg/qr.h"

#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/solve.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, geqrf, linalg_householder_product, linalg_qr, orgqr, ormqr);

namespace {

/// Householder reflectors (a) and their scale factors (tau), as geqrf returns them: on the host, column-major.
struct HouseholderReflectors {
  Tensor a, tau;
};
HouseholderReflectors factor_qr(const char* op, const Tensor& x) {
  HouseholderReflectors r;
  r.a = to_column_major(op, x);
  r.tau = core::empty({r.a.size(0), std::min(r.a.size(1), r.a.size(2))}, r.a.dtype(), r.a.device());
  TANDEM_DISPATCH_HOST(r.a.device(), geqrf, r.a, r.tau);
  return r;
}

/// Returns the gradient of a = Q R (Giles 2008; Walter and Lehmann 2010). dQ or dR may be undefined.
Tensor qr_backward(const Tensor& Q, const Tensor& R, const Tensor& dQ, const Tensor& dR) {
  const int64_t k = Q.size(-1), n = R.size(-1);
  if (n > k) {  // wide R: columns k to n - 1 of R are Q^T times the same columns of a
    const Tensor dV = dR.defined() ? dR.narrow(-1, k, n - k) : zeros_like(R.narrow(-1, k, n - k));
    const Tensor part = Q.matmul(R.narrow(-1, k, n - k)).matmul(dV.mT());
    const Tensor dU = dR.defined() ? dR.narrow(-1, 0, k) : Tensor();
    return cat({qr_backward(Q, R.narrow(-1, 0, k), dQ.defined() ? dQ + part : part, dU), Q.matmul(dV)}, -1);
  }
  Tensor m;
  if (dR.defined()) m = dR.matmul(R.mT());
  if (dQ.defined()) m = m.defined() ? m - Q.mT().matmul(dQ) : -Q.mT().matmul(dQ);
  const Tensor upper = m.triu();
  Tensor inner = Q.matmul(upper + upper.triu(1).mT());
  if (dQ.defined()) inner = inner + dQ;
  return linalg_solve_triangular(R.mT(), inner, /*upper=*/false, /*left=*/false);
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& a, std::string_view mode) {
  if (const Autocast cast{cast_policy::linalg_qr, a}) return linalg_qr(cast(a), mode);
  static constexpr const char* kName = "linalg_qr";
  check_matrices(kName, a);
  TANDEM_CHECK(mode == "reduced" || mode == "complete" || mode == "r", kName, ": qr received unrecognized mode '", mode,
               "' but expected one of 'reduced' (default), 'r', or 'complete'");
  const bool complete = mode == "complete", only_r = mode == "r";
  const HouseholderReflectors f = factor_qr(kName, a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), columns = complete ? m : k;
  Tensor Q, R;
  {
    const NoGradGuard guard;
    R = from_column_major(f.a, batch_sizes(a), a.device()).narrow(-2, 0, columns).triu();
    if (only_r) {
      Q = core::empty({0}, a.dtype(), a.device());
    } else {
      Tensor q = zeros({f.a.size(0), columns, m}, f.a.options());
      q.narrow(1, 0, k).copy_(f.a.narrow(1, 0, k));
      TANDEM_DISPATCH_HOST(q.device(), orgqr, q, f.tau);
      Q = from_column_major(q, batch_sizes(a), a.device());
    }
  }
  const bool too_tall = complete && m > n;
  return record_op(
      kName, std::tuple(Q, R), {a}, {Q, R}, [only_r, too_tall](const BackwardContext& ctx, const Grads& dy) -> Grads {
        TANDEM_CHECK(!only_r,
                     "The derivative of linalg_qr depends on Q, which is not computed when mode='r'. Please use "
                     "mode='reduced' if you are going to differentiate through it");
        TANDEM_CHECK(
            !too_tall, kName,
            ": The QR decomposition is not differentiable when mode='complete' and nrows > ncols; use mode='reduced'");
        return {qr_backward(ctx.saved(0), ctx.saved(1), dy[0], dy[1])};
      });
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& a) {
  if (const Autocast cast{cast_policy::geqrf, a}) return geqrf(cast(a));
  check_matrices("geqrf", a);
  const HouseholderReflectors f = factor_qr("geqrf", a);
  const IntArrayRef leading = batch_sizes(a);
  return record_op(
      "geqrf", std::tuple(from_column_major(f.a, leading, a.device()), copy_from_host(f.tau, leading, a.device())), {a},
      {}, [](const BackwardContext&, const Grads&) -> Grads {
        TANDEM_CHECK_AS(NotImplementedError, false, "the derivative for 'geqrf' is not implemented; use linalg_qr");
        return {};
      });
}
std::tuple<Tensor, Tensor> Tensor::geqrf() const { return tandem::geqrf(*this); }

namespace {
/// Applies the reflectors H_0 H_1 ..., or the transpose of their product, to c from the left, one by one;
/// differentiable.
Tensor apply_reflectors(const Tensor& x, const Tensor& tau, Tensor c, bool transpose) {
  const int64_t k = tau.size(-1);
  const Tensor v = x.narrow(-1, 0, k).tril(-1) + eye(x.size(-2), k, x.options());
  for (int64_t step = 0; step < k; ++step) {
    const int64_t i = transpose ? step : k - 1 - step;
    const Tensor column = v.narrow(-1, i, 1);
    c = c - tau.narrow(-1, i, 1).unsqueeze(-1) * column.matmul(column.mT().matmul(c));
  }
  return c;
}
void check_reflectors(const char* op, const Tensor& x, const Tensor& tau) {
  check_matrices(op, x);
  check_product_operands(op, x, tau);
  TANDEM_CHECK(tau.dim() == x.dim() - 1 && batch_sizes(tau, 1) == batch_sizes(x), op,
               ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ", tau.sizes(), " for ",
               x.sizes());
  TANDEM_CHECK(tau.size(-1) <= x.size(-1), op, ": input.shape[-1] must be greater than or equal to tau.shape[-1], got ",
               x.sizes(), " and ", tau.sizes());
  TANDEM_CHECK(x.size(-1) <= x.size(-2), op, ": input.shape[-2] must be greater than or equal to input.shape[-1], got ",
               x.sizes());
}
/// Returns tau as a contiguous tensor (batch, k) on the host.
Tensor copy_tau_to_host(const Tensor& tau) {
  const Tensor host = contiguous_detached(tau.detach().to(get_host_device(tau)));
  return core::try_view(host, {numel_of(batch_sizes(tau, 1)), tau.size(-1)});
}
}  // namespace
Tensor linalg_householder_product(const Tensor& x, const Tensor& tau) {
  if (const Autocast cast{cast_policy::linalg_householder_product, x, tau})
    return linalg_householder_product(cast(x), cast(tau));
  static constexpr const char* kName = "linalg_householder_product";
  check_reflectors(kName, x, tau);
  if (autograd::any_requires_grad({x, tau})) {
    const Tensor start = eye(x.size(-2), x.size(-1), x.options());
    return apply_reflectors(x, tau, start.expand(x.sizes()), false);
  }
  Tensor q = to_column_major(kName, x);
  const Tensor factors = copy_tau_to_host(tau);
  TANDEM_DISPATCH_HOST(q.device(), orgqr, q, factors);
  return from_column_major(q, batch_sizes(x), x.device());
}
Tensor orgqr(const Tensor& x, const Tensor& tau) { return linalg_householder_product(x, tau); }
Tensor Tensor::orgqr(const Tensor& tau) const { return linalg_householder_product(*this, tau); }

Tensor ormqr(const Tensor& x, const Tensor& tau, const Tensor& c, bool left, bool transpose) {
  if (const Autocast cast{cast_policy::ormqr, x, tau, c}) return ormqr(cast(x), cast(tau), cast(c), left, transpose);
  static constexpr const char* kName = "ormqr";
  check_reflectors(kName, x, tau);
  check_matrices(kName, c);
  check_product_operands(kName, x, c);
  TANDEM_CHECK(batch_sizes(x) == batch_sizes(c), kName,
               ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ", c.sizes(), " for ",
               x.sizes());
  TANDEM_CHECK(c.size(left ? -2 : -1) == x.size(-2), kName, ": other.shape[", left ? -2 : -1,
               "] must be equal to input.shape[-2], got ", c.sizes(), " and ", x.sizes());
  if (autograd::any_requires_grad({x, tau, c}))
    return left ? apply_reflectors(x, tau, c, transpose)
                : transpose_result(apply_reflectors(x, tau, c.mT(), !transpose));
  const Tensor a = to_column_major(kName, x.narrow(-1, 0, tau.size(-1))), factors = copy_tau_to_host(tau);
  Tensor y = to_column_major(kName, c);
  TANDEM_DISPATCH_HOST(y.device(), ormqr, a, factors, left, transpose, y);
  return from_column_major(y, batch_sizes(c), c.device());
}
Tensor Tensor::ormqr(const Tensor& tau, const Tensor& other, bool left, bool transpose) const {
  return tandem::ormqr(*this, tau, other, left, transpose);
}

}  // namespace tandem
