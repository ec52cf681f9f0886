// The negative log likelihood of normally distributed values: gaussian_nll_loss.
#include "tandem/ops/loss/gaussian_nll_loss.h"

#include <cmath>
#include <numbers>

#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/clamp.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/loss/loss_helpers.h"
#include "tandem/ops/reduce/all_any.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, gaussian_nll_loss);

namespace {

/// Returns var. If var has one dimension less than x, appends a last dimension of size 1. @throws Error if the sizes of
/// var do not fit
Tensor broadcast_variance(const Tensor& x, const Tensor& var) {
  if (var.sizes() == x.sizes()) return var;
  if (x.dim() > 0 && var.sizes() == x.sizes().slice(0, x.dim() - 1)) return var.unsqueeze(-1);
  int64_t unlike = 0;  // sum of var's sizes over the dimensions in which var and x differ
  for (int64_t d = 0; d < x.dim() && var.dim() == x.dim(); ++d) unlike += var.size(d) == x.size(d) ? 0 : var.size(d);
  TANDEM_CHECK(unlike == 1, "gaussian_nll_loss: var is of incorrect size: var is ", var.sizes(), " and x ", x.sizes(),
               "; accepted for var: x's shape, x's shape without the last dimension, or x's shape with one size of 1");
  return var;
}

}  // namespace

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full, double eps,
                         LossReduction reduction) {
  if (const Autocast cast{cast_policy::gaussian_nll_loss, x, target, var})
    return gaussian_nll_loss(cast(x), cast(target), cast(var), full, eps, reduction);
  check_floating_point("gaussian_nll_loss", x);
  TANDEM_CHECK(!var.is_cpu() || is_graph_recording() || !(var < 0).any().item<bool>(),
               "gaussian_nll_loss: var has negative entry/entries; accepted: 0 or more");
  Tensor v = broadcast_variance(x, var).clone();
  {
    const NoGradGuard guard;
    v.clamp_min_(eps);
  }
  const Tensor losses = 0.5 * (v.log() + (x - target).square() / v);
  return apply_loss_reduction(full ? losses + 0.5 * std::log(2 * std::numbers::pi) : losses, reduction);
}

}  // namespace tandem
