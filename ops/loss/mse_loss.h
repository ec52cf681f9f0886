// The mean squared error: mse_loss. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// The mean of (x - target)^2, or their sum, or each.
/// @param x       of a floating dtype
/// @param target  of x's sizes and device
/// @return        a scalar; with Reduction::none of x's sizes
/// @throws Error  for a target of other sizes: nothing broadcasts
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace tandem
