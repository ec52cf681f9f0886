// Absolute errors: l1_loss and smooth_l1_loss. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns |x - target|, reduced as in mse_loss. x and target may have any dtype but bool, and must have the same
/// sizes. The gradient at 0 is 0.
Tensor l1_loss(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean);
/// Returns 0.5 d^2 / beta where d is below beta, and d - beta / 2 otherwise, where d = |x - target|; l1_loss if beta is
/// 0. Arguments as in mse_loss.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean,
                      double beta = 1);

}  // namespace tandem
