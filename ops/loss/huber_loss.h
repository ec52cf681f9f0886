// The Huber loss: huber_loss. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns 0.5 d^2 for d below delta, and delta (d - delta / 2) otherwise, where d = |x - target|. @throws Error unless
/// delta is positive
Tensor huber_loss(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean,
                  double delta = 1);

}  // namespace tandem
