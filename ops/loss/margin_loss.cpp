// Losses with a margin: margin_ranking_loss, soft_margin_loss, multi_margin_loss, multilabel_margin_loss,
// multilabel_soft_margin_loss. At the margin, the slope of margin_ranking_loss is 1, because PyTorch's formula has
// clamp_min; the slope of multi_margin_loss and multilabel_margin_loss, which have their own kernels in PyTorch, is 0,
// as for relu.
#include "tandem/ops/loss/margin_loss.h"

#include <limits>

#include "tandem/ops/loss/loss_helpers.h"
#include "tandem/ops/nn/activation.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, margin_ranking_loss, multi_margin_loss, multilabel_margin_loss, soft_margin_loss);

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                           LossReduction reduction) {
  if (const Autocast cast{cast_policy::margin_ranking_loss, a, b, target})
    return margin_ranking_loss(cast(a), cast(b), cast(target), margin, reduction);
  TANDEM_CHECK(a.dim() == b.dim() && a.dim() == target.dim(), "margin_ranking_loss: a is ", a.sizes(), ", b is ",
               b.sizes(), " and target is ", target.sizes(), "; all must have the same number of dimensions");
  return apply_loss_reduction((target.neg() * (a - b) + margin).clamp_min(0), reduction);
}
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  if (const Autocast cast{cast_policy::soft_margin_loss, x, target})
    return soft_margin_loss(cast(x), cast(target), reduction);
  check_floating_point("soft_margin_loss", x);
  TANDEM_CHECK(x.sizes() == target.sizes(), "soft_margin_loss: x is ", x.sizes(), " and target is ", target.sizes(),
               "; both must have the same shape");
  const Tensor sign = target.to(x.dtype());
  Tensor losses;
  {
    const NoGradGuard guard;
    losses = softplus(x.neg() * sign, /*beta=*/1, /*threshold=*/std::numeric_limits<double>::infinity());
  }
  losses = record_op("soft_margin_loss", losses, {x, sign}, {x, sign},
                     [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                       const Tensor x = ctx.saved(0), sign = ctx.saved(1), slope = (sign * x.neg()).sigmoid();
                       // The order of the factors gives dx the target's strides, as in PyTorch.
                       return {sign * slope * dy.neg(), ctx.needs_grad(1) ? x * slope * dy.neg() : Tensor()};
                     });
  return apply_loss_reduction(losses, reduction);
}

namespace {
/// Checks the operands and returns x as rows of classes (N, C). @throws Error that names op
Tensor check_and_get_class_rows(const char* op, const Tensor& x, const Tensor& target) {
  check_floating_point(op, x);
  TANDEM_CHECK((x.dim() == 1 || x.dim() == 2) && x.size(-1) > 0, op,
               ": Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", x.sizes());
  TANDEM_CHECK(target.dtype() == kInt64, op, ": expected scalar type Long but found ", target.dtype(),
               " for target; accepted: int64");
  TANDEM_CHECK(target.device() == x.device(), op,
               ": Expected all tensors to be on the same device, but got target is on ", target.device(),
               ", different from other tensors on ", x.device());
  return x.dim() == 1 ? x.unsqueeze(0) : x;
}
/// Reduces the losses of rows. If x is a single row, the unreduced loss is a 0-dim tensor.
Tensor apply_row_reduction(const Tensor& losses, const Tensor& x, Reduction reduction) {
  return apply_loss_reduction(x.dim() == 1 ? losses.squeeze(0) : losses, reduction);
}
}  // namespace

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const Tensor& weight, LossReduction reduction) {
  if (const Autocast cast{cast_policy::multi_margin_loss, x, target, weight})
    return multi_margin_loss(cast(x), cast(target), p, margin, cast(weight), reduction);
  const Tensor rows = check_and_get_class_rows("multi_margin_loss", x, target);
  TANDEM_CHECK(p.to_double() == 1 || p.to_double() == 2, "multi_margin_loss: only p == 1 and p == 2 supported, got ",
               p);
  TANDEM_CHECK(target.numel() == rows.size(0) && target.dim() <= 1,
               "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
               "size). Expected target size [",
               rows.size(0), "], but got ", target.sizes(), ". Input has shape ", x.sizes(), ".");
  const int64_t classes = rows.size(1);
  check_parameter("multi_margin_loss", "weight", weight, classes, x);
  const Tensor t = target.reshape({-1, 1}), own = rows.gather(1, t);
  Tensor over = (rows - own + margin).relu();
  if (p.to_double() == 2) over = over.square();
  if (weight.defined()) over = over * weight.to(x.dtype()).reshape({-1}).index_select(0, t.squeeze(1)).unsqueeze(1);
  const Tensor others = arange(classes, TensorOptions(kInt64).device(x.device())) != t;
  return apply_row_reduction(where(others, over, Scalar(0)).sum({1}) / static_cast<double>(classes), x, reduction);
}
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  if (const Autocast cast{cast_policy::multilabel_margin_loss, x, target})
    return multilabel_margin_loss(cast(x), cast(target), reduction);
  const Tensor rows = check_and_get_class_rows("multilabel_margin_loss", x, target);
  TANDEM_CHECK(target.sizes() == x.sizes(), "multilabel_margin_loss: inconsistent target size: ", target.sizes(),
               " for input of size: ", x.sizes());
  const Tensor t = target.reshape(rows.sizes());
  const Tensor listed = (t < 0).to(kInt64).cumsum(1) == 0, safe = where(listed, t, Scalar(0));
  const Tensor is_target = zeros_like(t).scatter_add(1, safe, listed.to(kInt64)) > 0;
  // 1 - x[n, t] + x[n, i], clamped at 0, for all samples n, entries t of the target and classes i.
  const Tensor over = (rows.unsqueeze(1) - rows.gather(1, safe).unsqueeze(2) + 1).relu();
  const Tensor counts = listed.unsqueeze(2) & is_target.logical_not().unsqueeze(1);
  const Tensor losses = where(counts, over, Scalar(0)).sum({1, 2}) / static_cast<double>(rows.size(1));
  return apply_row_reduction(losses, x, reduction);
}

Tensor detail::multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight,
                                           Reduction reduction) {
  TANDEM_CHECK(x.dim() > 0 && x.sizes() == target.sizes(), "multilabel_soft_margin_loss: x is ", x.sizes(),
               " and target is ", target.sizes(), "; accepted: (..., C) for both");
  Tensor losses = (target * log_sigmoid(x) + (1 - target) * log_sigmoid(-x)).neg();
  if (weight.defined()) losses = losses * weight;
  return apply_loss_reduction(losses.mean({-1}), reduction);
}

}  // namespace tandem
