// Huber's loss: huber_loss. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// 0.5 d^2 up to delta, delta (d - delta / 2) above, with d = |x - target|. @throws Error unless delta is positive
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, double delta = 1);

}  // namespace tandem
