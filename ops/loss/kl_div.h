// The Kullback-Leibler divergence: kl_div. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Kullback and Leibler's divergence target (ln target - x), for x a logarithm of probabilities; 0 where target is.
/// With log_target the target is a logarithm too. Operands broadcast. Reduction::mean divides by the number of
/// elements; the divergence of a batch is the sum over the number of samples.
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
              detail::Flag log_target = false);

}  // namespace tandem
