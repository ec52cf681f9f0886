// Losses of regressions and distributions that are made of other operations.
#include <numbers>

#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/elementwise/formula.h"
#include "tandem/ops/loss/loss_reduction.h"
#include "tandem/ops/operands.h"

namespace tandem {

Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
  check_real("huber_loss", x);
  TANDEM_CHECK(delta > 0, "huber_loss: delta is ", delta, "; accepted: above 0");
  const Tensor d = (x - target).abs();
  const Tensor far = d >= delta;                 // not where d is a NaN
  const Tensor near = where(far, Scalar(0), d);  // the slope of an infinite square would make a NaN of the gradient
  const Tensor losses = where(far, (d - 0.5 * delta) * delta, near.square() * 0.5);
  return reduced(losses.to(x.dtype()), reduction);
}
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction, Flag log_target) {
  check_real("kl_div", x);
  check_real("kl_div", target);
  return reduced(log_target ? target.exp() * (target - x) : target.xlogy(target) - target * x, reduction);
}
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, Flag log_input, Flag full, double eps,
                        Reduction reduction) {
  check_real("poisson_nll_loss", x);
  Tensor losses = log_input ? x.exp() - target * x : x - target * (x + eps).log();
  if (full) {
    const Tensor t = target.to(losses.dtype()), many = t > 1, safe = where(many, t, Scalar(2));
    const Tensor stirling = safe * safe.log() - safe + 0.5 * (2 * std::numbers::pi * safe).log();
    losses = losses + where(many, stirling, Scalar(0));
  }
  return reduced(losses, reduction);
}

}  // namespace tandem
