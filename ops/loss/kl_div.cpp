// The Kullback-Leibler divergence: kl_div.
#include "tandem/ops/loss/kl_div.h"

#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, kl_div);

Tensor kl_div(const Tensor& x, const Tensor& target, LossReduction reduction, Flag log_target) {
  if (const Autocast cast{cast_policy::kl_div, x, target}) return kl_div(cast(x), cast(target), reduction, log_target);
  check_floating_point("kl_div", x);
  check_floating_point("kl_div", target);
  return apply_loss_reduction(log_target ? target.exp() * (target - x) : target.xlogy(target) - target * x, reduction);
}

}  // namespace tandem
