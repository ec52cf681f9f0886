// The Huber loss: huber_loss.
#include "tandem/ops/loss/huber_loss.h"

#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, huber_loss);

Tensor huber_loss(const Tensor& x, const Tensor& target, LossReduction reduction, double delta) {
  if (const Autocast cast{cast_policy::huber_loss, x, target})
    return huber_loss(cast(x), cast(target), reduction, delta);
  check_floating_point("huber_loss", x);
  TANDEM_CHECK(delta > 0, "huber_loss does not support non-positive values for delta. Got ", delta);
  const Tensor d = (x - target).abs();
  const Tensor far = d >= delta;  // false for NaN
  // 0 where d is large: the square of an infinite d would make the gradient NaN
  const Tensor near = where(far, Scalar(0), d);
  const Tensor losses = where(far, (d - 0.5 * delta) * delta, near.square() * 0.5);
  return apply_loss_reduction(losses.to(x.dtype()), reduction);
}

}  // namespace tandem
