// Negative log likelihood: nll_loss and its gradient.
#include "tandem/ops/loss/nll_loss.h"

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/nll.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/loss/class_loss.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, nll_loss);

namespace {
/// Returns dx[i, target[i]] = -dloss[i] weights[i], which is linear in dloss. If dloss is the gradient of the mean,
/// `total_weight` is the sum of the weights; otherwise it is undefined.
Tensor nll_backward(const Tensor& dloss, const Tensor& total_weight, const Tensor& target, const Tensor& weights,
                    int64_t ignore_index, IntArrayRef sizes, DType dtype) {
  // divides before the kernel, so that autograd records the division for second derivatives
  if (total_weight.defined() && is_grad_enabled())
    return nll_backward((dloss / total_weight).expand({sizes[0]}), {}, target, weights, ignore_index, sizes, dtype);
  const Tensor g = contiguous_detached(dloss);
  Tensor dx = core::empty(sizes, dtype, dloss.device());
  TANDEM_DISPATCH(dx.device(), nll_backward, g, total_weight, target, weights, ignore_index, dx);
  return record_op("nll_backward", dx, {dloss}, {target, weights},
                   [](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
                     return {(gather_targets(ddx, ctx.saved(0)) * ctx.saved(1)).neg()};
                   });
}
}  // namespace
Tensor detail::nll_loss_per_row(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean,
                                int64_t ignore_index) {
  Tensor losses = empty_per_row(x), weights = empty_per_row(x);
  TANDEM_DISPATCH(x.device(), nll, x, target, weight, ignore_index, losses, weights);
  const auto [loss, total_weight] = weighted_mean(losses, weights, mean);
  return record_op("nll_loss", loss, {x}, {target, weights, total_weight},
                   [sizes = Shape(x.sizes()), dtype = x.dtype(), ignore_index](const BackwardContext& ctx,
                                                                               const Tensor& dy) -> Grads {
                     const Tensor dx =
                         nll_backward(dy, ctx.saved(2), ctx.saved(0), ctx.saved(1), ignore_index, sizes, dtype);
                     return {ctx.attach_zero_derivative(0, dx)};
                   });
}
Tensor nll_loss(const Tensor& log_prob, const Tensor& target, const Tensor& weight, LossReduction reduction,
                int64_t ignore_index) {
  if (const Autocast cast{cast_policy::nll_loss, log_prob, target, weight})
    return nll_loss(cast(log_prob), cast(target), cast(weight), reduction, ignore_index);
  const OpSpan span("nll_loss");
  return compute_class_loss("nll_loss", "log_prob", log_prob, to_class_indices(target), weight, reduction, ignore_index,
                            nll_loss_per_row);
}

}  // namespace tandem
