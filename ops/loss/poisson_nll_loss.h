// The negative log likelihood of counts: poisson_nll_loss. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// The negative log likelihood of counts of a Poisson distribution with mean e^x (log_input) or x:
/// e^x - target x, or x - target ln(x + eps). `full` adds Stirling's target ln target - target + ln(2 pi target) / 2
/// where target is above 1.
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, detail::Flag log_input, detail::Flag full, double eps,
                        Reduction reduction);

}  // namespace tandem
