// Cross entropy of class indices and of probabilities: cross_entropy and its gradient.
#include "tandem/ops/loss/cross_entropy.h"

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/nll.h"
#include "tandem/ops/loss/class_loss.h"
#include "tandem/ops/loss/loss_helpers.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/ops/nn/softmax.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, cross_entropy);

namespace {
/// Returns dx[i, j] = dloss[i] weights[i] (p[i, j] - [j = target[i]]) with p = softmax(x), which the kernel computes
/// from log_sum. See nll_backward for `total_weight`.
Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& total_weight, const Tensor& x, const Tensor& target,
                              const Tensor& weights, const Tensor& log_sum, int64_t ignore_index) {
  if (total_weight.defined() && is_grad_enabled())
    return cross_entropy_backward((dloss / total_weight).expand({x.size(0)}), {}, x, target, weights, log_sum,
                                  ignore_index);
  const Tensor g = contiguous_detached(dloss);
  Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(dx.device(), cross_entropy_backward, g, total_weight, x, target, weights, log_sum, ignore_index, dx);
  return record_op("cross_entropy_backward", dx, {dloss, x}, {dloss, x, target, weights},
                   [](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
                     const Tensor p = softmax(ctx.saved(1), 1), weights = ctx.saved(3);
                     Tensor ddloss, dx;
                     if (ctx.needs_grad(0)) ddloss = ((ddx * p).sum({1}) - gather_targets(ddx, ctx.saved(2))) * weights;
                     if (ctx.needs_grad(1)) {
                       const Tensor scaled_dloss = (ctx.saved(0) * weights).to(ddx.dtype());
                       dx = softmax_backward(ddx * scaled_dloss.unsqueeze(1), p, 1);
                     }
                     return {ddloss, dx};
                   });
}
Tensor cross_entropy_per_row(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean,
                             int64_t ignore_index) {
  Tensor losses = empty_per_row(x), weights = empty_per_row(x), log_sum = empty_per_row(x);
  TANDEM_DISPATCH(x.device(), cross_entropy, x, target, weight, ignore_index, losses, weights, log_sum);
  const auto [loss, total_weight] = weighted_mean(losses, weights, mean);
  return record_op("cross_entropy", loss, {x}, {x, target, weights, log_sum, total_weight},
                   [ignore_index](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {cross_entropy_backward(dy, ctx.saved(4), ctx.saved(0), ctx.saved(1), ctx.saved(2),
                                                    ctx.saved(3), ignore_index)};
                   });
}
/// Returns -sum_c target[n, c] weight[c] log_prob[n, c] for targets that hold probabilities.
Tensor cross_entropy_prob_target(const Tensor& x, const Tensor& given, const Tensor& weight, Reduction reduction,
                                 int64_t ignore_index, double label_smoothing) {
  TANDEM_CHECK(ignore_index < 0, "cross_entropy: ignore_index is not supported for floating point target, but is ",
               ignore_index, "; a negative ignore_index has no effect");
  check_loss_inputs("cross_entropy", x, given);
  TANDEM_CHECK(x.dim() > 0,
               "cross_entropy: Expected 1 or more dimensions (got 0); accepted: (C,), (N, C) or (N, C, d...)");
  const int64_t dim = x.dim() == 1 ? 0 : 1, classes = x.size(dim);
  check_parameter("cross_entropy", "weight", weight, classes, x);
  Tensor target = given;
  if (label_smoothing > 0) target = target * (1 - label_smoothing) + label_smoothing / static_cast<double>(classes);
  const DType wide = accumulate_type(x.dtype());
  Tensor terms = log_softmax(x, dim).to(wide) * target.to(promote_types(wide, target.dtype()));
  if (weight.defined()) {
    Shape sizes(static_cast<size_t>(x.dim()), 1);
    sizes[static_cast<size_t>(dim)] = classes;
    terms = terms * weight.to(wide).view(sizes);
  }
  const Tensor losses = terms.sum({dim}).neg();
  return apply_loss_reduction(losses, reduction).to(promote_types(x.dtype(), target.dtype()));
}
}  // namespace

Tensor qualified::cross_entropy(const Tensor& x, const Tensor& given, const Tensor& weight, LossReduction reduction,
                                int64_t ignore_index, double label_smoothing) {
  if (const Autocast cast{cast_policy::cross_entropy, x, given, weight})
    return cross_entropy(cast(x), cast(given), cast(weight), reduction, ignore_index, label_smoothing);
  TANDEM_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
               "cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing,
               "; 0 and 1 are accepted");
  const OpSpan span("cross_entropy");
  if (given.is_floating_point() && given.sizes() == x.sizes())
    return cross_entropy_prob_target(x, given, weight, reduction, ignore_index, label_smoothing);
  const Tensor target = to_class_indices(given);
  if (label_smoothing == 0)
    return compute_class_loss("cross_entropy", "x", x, target, weight, reduction, ignore_index, cross_entropy_per_row);
  check_floating_point("cross_entropy", x);
  TANDEM_CHECK(x.dim() > 0,
               "cross_entropy: Expected 1 or more dimensions (got 0); accepted: (C,), (N, C) or (N, C, d...)");
  const int64_t dim = x.dim() == 1 ? 0 : 1;
  const Tensor log_prob = log_softmax(x, dim);
  const Tensor loss =
      compute_class_loss("cross_entropy", "x", log_prob, target, weight, reduction, ignore_index, nll_loss_per_row);
  // Computes the loss of the uniform part of the smoothed target: -sum_c weight[c] log_prob[n, c] / C for targets that
  // are not ignored. The mean divides by the sum of the weights of these targets.
  const double classes = static_cast<double>(x.size(dim));
  Tensor uniform_loss = log_prob;
  if (weight.defined()) {
    Shape sizes(static_cast<size_t>(x.dim()), 1);
    sizes[static_cast<size_t>(dim)] = weight.numel();
    uniform_loss = uniform_loss * weight.to(x.dtype()).view(sizes);
  }
  const Tensor ignored = target == ignore_index;
  // Sums are computed in this dtype, because a sum over many samples may overflow float16.
  const DType wide = accumulate_type(x.dtype());
  // Selects 0 instead of multiplying by 0, because 0 * NaN is NaN.
  uniform_loss = where(ignored, Scalar(0), uniform_loss.sum({dim}).to(wide).neg() / classes);
  Tensor smooth = uniform_loss;
  if (reduction == Reduction::sum) smooth = uniform_loss.sum();
  if (reduction == Reduction::mean) {
    Tensor weights = ignored.logical_not().to(wide);
    if (weight.defined()) {
      const Tensor safe = where(ignored, zeros_like(target), target);
      weights = weights * weight.to(wide).index_select(0, safe.reshape({-1})).reshape(target.sizes());
    }
    smooth = uniform_loss.sum() / weights.sum();
  }
  return (loss * (1 - label_smoothing) + smooth * label_smoothing).to(x.dtype());
}

}  // namespace tandem
