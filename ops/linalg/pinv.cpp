// Pseudoinverses: linalg_pinv, pinverse.
#include "tandem/ops/linalg/pinv.h"

#include "tandem/ops/linalg/eig.h"
#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/rank_tolerances.h"
#include "tandem/ops/linalg/svd.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_pinv, pinverse);

Tensor detail::pinv_backward(const Tensor& dp, const Tensor& p, const Tensor& a) {
  // Differentiates p = p a p, where a p and p a are symmetric. -p^T dp p^T is the part within a's row and column
  // spaces; the other terms lie outside them.
  const Tensor pt = p.mT(), g = dp.mT();
  const Tensor down = g.matmul(p).matmul(pt), across = pt.matmul(p).matmul(g);
  return down - a.matmul(p.matmul(down)) + across - across.matmul(p).matmul(a) - pt.matmul(dp).matmul(pt);
}

/// Returns the pseudoinverse. Its gradient is computed by pinv_backward, because singular vectors of equal singular
/// values have no gradient.
static Tensor pseudoinverse(const char* op, const Tensor& a, const Tolerances& tolerances, bool hermitian) {
  if (const Autocast cast{cast_policy::linalg_pinv, a}) return pseudoinverse(op, cast(a), tolerances, hermitian);
  hermitian ? check_square(op, a) : check_matrices(op, a);
  Tensor p;
  {
    const NoGradGuard guard;
    if (a.numel() == 0) {
      p = zeros(append_sizes(batch_sizes(a), {a.size(-1), a.size(-2)}), a.options());
    } else if (hermitian) {
      const auto [w, v] = linalg_eigh(a);
      const Tensor inverted = where(exceeds_tolerance(op, a, w.abs(), tolerances), w.reciprocal(), Scalar(0));
      p = (v * inverted.unsqueeze(-2)).matmul(v.mT());
    } else {
      const auto [U, S, Vh] = linalg_svd(a, /*full_matrices=*/false);
      const Tensor inverted = where(exceeds_tolerance(op, a, S, tolerances), S.reciprocal(), Scalar(0));
      p = (Vh.mT() * inverted.unsqueeze(-2)).matmul(U.mT());
    }
  }
  return record_op("linalg_pinv", p, {a}, {a, p}, [](const BackwardContext& ctx, const Tensor& dp) -> Grads {
    return {pinv_backward(dp, ctx.saved(1), ctx.saved(0))};
  });
}

Tensor linalg_pinv(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
                   bool hermitian) {
  return pseudoinverse("linalg_pinv", a, {atol, rtol}, hermitian);
}
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return pseudoinverse("linalg_pinv", a, make_tolerances(a, atol, rtol), hermitian);
}
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian) {
  return pseudoinverse("linalg_pinv", a, make_tolerances(a, {}, rcond), hermitian);
}
Tensor linalg_pinv(const Tensor& a, const Tensor& rcond, bool hermitian) {
  return pseudoinverse("linalg_pinv", a, {{}, rcond}, hermitian);
}
Tensor pinverse(const Tensor& a, double rcond) { return linalg_pinv(a, rcond); }
Tensor Tensor::pinverse(double rcond) const { return linalg_pinv(*this, rcond); }

}  // namespace tandem
