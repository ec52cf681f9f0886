// Binary cross entropy: binary_cross_entropy and binary_cross_entropy_with_logits.
#include "tandem/ops/loss/binary_cross_entropy.h"

#include <limits>

#include "tandem/kernels/nll.h"
#include "tandem/ops/loss/loss_helpers.h"
#include "tandem/ops/nn/activation.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, binary_cross_entropy, binary_cross_entropy_with_logits);

namespace {
/// Returns the loss of each element. Its derivative is d/dx = (x - t) / max(x (1 - x), 1e-12), because the derivative
/// of the composed logarithms is 0 * infinity where x is 0 or 1. The bound 1e-12 is a float, as in PyTorch.
Tensor binary_cross_entropy_per_element(const Tensor& x, const Tensor& target) {
  Tensor losses;
  {
    const NoGradGuard guard;
    losses = (x.log().clamp(-100.0) * target + x.neg().log1p().clamp(-100.0) * (1 - target)).neg();
  }
  return record_op("binary_cross_entropy", losses, {x, target}, {x, target},
                   [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor x = ctx.saved(0), t = ctx.saved(1);
                     Tensor dx, dt;
                     if (ctx.needs_grad(0)) dx = (x - t) * dy / (x * (1 - x)).clamp_min(1e-12f);
                     // The logarithms are not clamped here, as in PyTorch.
                     if (ctx.needs_grad(1)) dt = dy * ((1 - x).log() - x.log());
                     return {dx, dt};
                   });
}
/// Returns ln(1 + e^-x), with an exact derivative everywhere.
Tensor negative_log_sigmoid(const Tensor& x) {
  return softplus(x.neg(), /*beta=*/1, /*threshold=*/std::numeric_limits<double>::infinity());
}
/// Returns (1 - t) x + c ln(1 + e^-x) with c = 1 + (w - 1) t, where w is pos_weight, or 1. The derivative is written
/// out as d/dx = c sigmoid(x) - w t. The parts of the formula would give a wrong derivative at x = 0, where they have a
/// kink, and lose digits to cancellation elsewhere.
Tensor bce_with_logits_per_element(const Tensor& x, const Tensor& target, const Tensor& pos_weight) {
  Tensor losses;
  {
    const NoGradGuard guard;
    const Tensor soft = x.neg().relu() + x.abs().neg().exp().log1p();
    losses = (1 - target) * x + (pos_weight.defined() ? soft * ((pos_weight - 1) * target + 1) : soft);
  }
  return record_op("binary_cross_entropy_with_logits", losses, {x, target, pos_weight}, {x, target, pos_weight},
                   [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor x = ctx.saved(0), t = ctx.saved(1), w = ctx.saved(2);
                     Tensor dx, dt, dw;
                     if (ctx.needs_grad(0) && !w.defined()) dx = (x.sigmoid() - t) * dy;
                     if (ctx.needs_grad(0) && w.defined()) {
                       // w is multiplied by t first, because 1 - w may round to 1 in w's dtype
                       const Tensor scaled = w * t;
                       dx = ((scaled + 1 - t) * x.sigmoid() - scaled) * dy;
                     }
                     if (ctx.needs_grad(1))
                       dt = dy * (w.defined() ? w * negative_log_sigmoid(x) - negative_log_sigmoid(x.neg()) : x.neg());
                     if (ctx.needs_grad(2)) dw = dy * t * negative_log_sigmoid(x);
                     return {dx, dt, dw};
                   });
}
Tensor apply_loss_weight(const char* op, const Tensor& losses, const Tensor& weight) {
  if (!weight.defined()) return losses;
  TANDEM_CHECK(weight.device() == losses.device(), op,
               ": Expected all tensors to be on the same device, but got weight is on ", weight.device(),
               ", different from other tensors on ", losses.device());
  TANDEM_CHECK(broadcast_shapes(op, losses.sizes(), weight.sizes()) == losses.sizes(), op, ": weight is ",
               weight.sizes(), "; it must broadcast to x's sizes, ", losses.sizes());
  return losses * weight.to(losses.dtype());
}
}  // namespace

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, LossReduction reduction) {
  if (const Autocast cast{cast_policy::binary_cross_entropy, x, target, weight}) {
    TANDEM_CHECK(!x.is_cuda(),
                 "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
                 "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
                 "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
                 "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
                 "safe to autocast.");
    return binary_cross_entropy(cast(x), cast(target), cast(weight), reduction);
  }
  check_loss_inputs("binary_cross_entropy", x, target);
  check_same_dtype("binary_cross_entropy", "x", x, "target", target);
  if (kernels::checks_probabilities(x.device())) {
    kernels::check_probabilities(
        "binary_cross_entropy: all elements of input", contiguous_detached(x),
        "; apply sigmoid, or call binary_cross_entropy_with_logits, which accepts all numbers");
    kernels::check_probabilities("binary_cross_entropy: all elements of target", contiguous_detached(target), "");
  }
  const Tensor losses = binary_cross_entropy_per_element(x, target);
  return apply_loss_reduction(apply_loss_weight("binary_cross_entropy", losses, weight), reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, LossReduction reduction) {
  if (const Autocast cast{cast_policy::binary_cross_entropy_with_logits, x, target, weight, pos_weight})
    return binary_cross_entropy_with_logits(cast(x), cast(target), cast(weight), cast(pos_weight), reduction);
  check_loss_inputs("binary_cross_entropy_with_logits", x, target);
  TANDEM_CHECK(target.is_floating_point(), "binary_cross_entropy_with_logits: target is ", target.dtype(),
               "; accepted: floating point");
  if (pos_weight.defined()) broadcast_shapes("binary_cross_entropy_with_logits", x.sizes(), pos_weight.sizes());
  const Tensor losses = bce_with_logits_per_element(x, target, pos_weight).to(target.dtype());
  return apply_loss_reduction(apply_loss_weight("binary_cross_entropy_with_logits", losses, weight), reduction);
}

}  // namespace tandem
