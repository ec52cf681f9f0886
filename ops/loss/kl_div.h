// The Kullback-Leibler divergence: kl_div. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns the Kullback-Leibler divergence target (ln target - x), elementwise, where x holds logarithms of
/// probabilities. It is 0 where target is 0. If log_target, target holds logarithms too. Operands broadcast.
/// Reduction::mean divides by the number of elements; for the divergence of a batch, take the sum and divide by the
/// number of samples.
Tensor kl_div(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean,
              detail::Flag log_target = false);

}  // namespace tandem
