// The mean squared error: mse_loss. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns the mean of (x - target)^2, the sum, or each element, depending on the reduction.
/// @param x       tensor of a floating dtype
/// @param target  tensor with x's sizes and device
/// @return        a 0-dim tensor; with Reduction::none a tensor with x's sizes
/// @throws Error  if sizes or devices differ: operands do not broadcast
Tensor mse_loss(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean);

}  // namespace tandem
