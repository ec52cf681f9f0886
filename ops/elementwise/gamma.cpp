// Gamma functions: lgamma, digamma, polygamma, mvlgamma, igamma, igammac.
#include "tandem/ops/elementwise/gamma.h"

#include <cmath>
#include <numbers>

#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/special.h"
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, digamma, igamma, igammac, lgamma, mvlgamma);

namespace {
namespace derivative {
TANDEM_GAMMA_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
TANDEM_INCOMPLETE_GAMMA_OPS(TANDEM_DECLARE_BINARY_DERIVATIVES)
}  // namespace derivative
// clang-format off
TANDEM_DEFINE_UNARY_DERIVATIVE(lgamma)     { return dy * s.digamma(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(digamma)    { return dy * s.polygamma(1); }
// clang-format on

/// Returns x^(a - 1) e^-x / Gamma(a), the derivative of igamma with respect to x.
Tensor gamma_density(const BackwardContext& ctx) {
  const Tensor a = ctx.saved(0), x = ctx.saved(1);
  return ((a - 1) * x.log() - x - a.lgamma()).exp();
}
TANDEM_DEFINE_BINARY_DERIVATIVES(igamma) {
  check_first_operand_requires_no_grad(ctx, "igamma");
  return {Tensor(), dz * gamma_density(ctx)};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(igammac) {
  check_first_operand_requires_no_grad(ctx, "igammac");
  return {Tensor(), dz.neg() * gamma_density(ctx)};
}
namespace op_descriptor {
TANDEM_GAMMA_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
TANDEM_INCOMPLETE_GAMMA_OPS(TANDEM_DEFINE_DIFFERENTIABLE_BINARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_GAMMA_OPS(TANDEM_DEFINE_UNARY_OP)
TANDEM_INCOMPLETE_GAMMA_OPS(TANDEM_DEFINE_BINARY_OP)

Tensor Tensor::polygamma(int64_t n) const {
  TANDEM_CHECK(n >= 0, "polygamma(n, x) does not support negative n. Got ", n);
  const Tensor x = promote_to_floating(*this);
  if (n == 0) return x.digamma();
  Tensor y;
  {
    const NoGradGuard guard;  // the value is computed from the zeta function (Abramowitz and Stegun 6.4.10)
    y = special_zeta(Scalar(n + 1), x) * ((n % 2 == 1 ? 1 : -1) * std::tgamma(static_cast<double>(n) + 1));
  }
  return record_op("polygamma", y, {x}, {x}, [n](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {dy * ctx.saved(0).polygamma(n + 1)};
  });
}
Tensor Tensor::mvlgamma(int64_t p) const {
  const AutocastOffGuard uncast;
  TANDEM_CHECK(p >= 1, "mvlgamma: p has to be greater than or equal to 1, got ", p);
  const Tensor x = promote_to_floating(*this);
  Tensor y = x.lgamma();
  for (int64_t j = 1; j < p; ++j) y = y + (x - 0.5 * static_cast<double>(j)).lgamma();
  return y + 0.25 * static_cast<double>(p * (p - 1)) * std::log(std::numbers::pi);
}
Tensor& Tensor::polygamma_(int64_t n) const {
  return compute_inplace("polygamma_", self(), {}, [&](const Tensor& x) { return x.polygamma(n); });
}
Tensor& Tensor::mvlgamma_(int64_t p) const {
  return compute_inplace("mvlgamma_", self(), {}, [&](const Tensor& x) { return x.mvlgamma(p); });
}
Tensor& polygamma_out(Tensor& out, int64_t n, const Tensor& x) {
  return assign_out("polygamma_out", out, x, [&] { return x.polygamma(n); });
}
Tensor& mvlgamma_out(Tensor& out, const Tensor& x, int64_t p) {
  return assign_out("mvlgamma_out", out, x, [&] { return x.mvlgamma(p); });
}

}  // namespace tandem
