// Absolute errors: l1_loss and smooth_l1_loss. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// The mean of |x - target|, or their sum, or each; its gradient at 0 is 0. Arguments as mse_loss's.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// With d = |x - target|: 0.5 d^2 / beta where d is below beta, d - beta / 2 above. beta 0: l1_loss.
/// Arguments as mse_loss's.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, double beta = 1);

}  // namespace tandem
