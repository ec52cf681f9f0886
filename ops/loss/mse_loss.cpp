// The mean squared error: mse_loss.
#include "tandem/ops/loss/mse_loss.h"

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, mse_loss);

namespace {
/// Returns the sum or mean of (x - target)^2, computed in one pass.
Tensor squared_error(const Tensor& x, const Tensor& target, bool mean) {
  const double count = mean ? static_cast<double>(x.numel()) : 1;
  Tensor y = core::empty({}, x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), squared_error, x, target, count, y);
  return record_op("mse_loss", y, {x, target}, {x, target},
                   [count](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor dx = (ctx.saved(0) - ctx.saved(1)) * (dy * (2 / count));
                     return {dx, ctx.needs_grad(1) ? dx.neg() : Tensor()};
                   });
}
}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  if (const Autocast cast{cast_policy::mse_loss, x, target}) return mse_loss(cast(x), cast(target), reduction);
  const OpSpan span("mse_loss");
  check_loss_inputs("mse_loss", x, target);
  if (reduction != Reduction::none && x.dtype() == target.dtype() && !is_reduced_floating_point(x.dtype()) &&
      x.is_contiguous() && target.is_contiguous() && x.numel() > 0)
    return squared_error(x, target, reduction == Reduction::mean);
  return apply_loss_reduction(subtract_target(x, target).square(), reduction);
}

}  // namespace tandem
