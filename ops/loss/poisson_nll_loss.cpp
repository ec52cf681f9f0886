// Negative log likelihood of counts: poisson_nll_loss.
#include "tandem/ops/loss/poisson_nll_loss.h"

#include <numbers>

#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, poisson_nll_loss);

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, Flag log_input, Flag full, double eps,
                        LossReduction reduction) {
  if (const Autocast cast{cast_policy::poisson_nll_loss, x, target})
    return poisson_nll_loss(cast(x), cast(target), log_input, full, eps, reduction);
  check_floating_point("poisson_nll_loss", x);
  Tensor losses = log_input ? x.exp() - target * x : x - target * (x + eps).log();
  if (full) {
    const Tensor t = target.to(losses.dtype()), many = t > 1, safe = where(many, t, Scalar(2));
    const Tensor stirling = safe * safe.log() - safe + 0.5 * (2 * std::numbers::pi * safe).log();
    losses = losses + where(many, stirling, Scalar(0));
  }
  return apply_loss_reduction(losses, reduction);
}

}  // namespace tandem
