// Negative log likelihood of counts: poisson_nll_loss. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns the negative log likelihood of counts `target` under Poisson distributions with mean e^x if log_input, or
/// mean x: e^x - target x, or x - target ln(x + eps). If `full`, Stirling's approximation target ln target - target +
/// ln(2 pi target) / 2 is added where target is above 1.
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, detail::Flag log_input, detail::Flag full, double eps,
                        detail::LossReduction reduction);

}  // namespace tandem
