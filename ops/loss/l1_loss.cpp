// Absolute errors: l1_loss and smooth_l1_loss.
#include "tandem/ops/loss/l1_loss.h"

#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, l1_loss, smooth_l1_loss);

Tensor l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  if (const Autocast cast{cast_policy::l1_loss, x, target}) return l1_loss(cast(x), cast(target), reduction);
  check_target_size("l1_loss", x, target);
  TANDEM_CHECK(x.dtype() != kBool && target.dtype() != kBool, "l1_loss: x is ", x.dtype(), " and target is ",
               target.dtype(), "; accepted: numbers");
  return apply_loss_reduction((x - target).abs(), reduction);
}
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction, double beta) {
  if (const Autocast cast{cast_policy::smooth_l1_loss, x, target})
    return smooth_l1_loss(cast(x), cast(target), reduction, beta);
  check_loss_inputs("smooth_l1_loss", x, target);
  TANDEM_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta. Got ", beta);
  if (beta == 0) return l1_loss(x, target, reduction);
  const Tensor d = subtract_target(x, target).abs();
  const Tensor far = d >= beta;  // false for NaN
  // 0 where d is large: the square of an infinite d would make the gradient NaN
  const Tensor near = where(far, Scalar(0), d);
  return apply_loss_reduction(where(far, d - 0.5 * beta, near.square() * (0.5 / beta)), reduction);
}

}  // namespace tandem
