// Poisson and binomial numbers: poisson, binomial.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns Poisson-distributed numbers whose mean is each element of x, in x's dtype. The host draws them: from
/// products of uniform numbers if the mean is below 10, otherwise by transformed rejection (Hoermann 1993, Insurance:
/// Mathematics and Economics 12).
Tensor poisson(const Tensor& x);
/// Returns the number of successes in `count` trials with success probability prob. Both have one floating dtype and
/// broadcast. The host draws the numbers: from waiting times if fewer than 10 successes or failures are expected,
/// otherwise by transformed rejection (Hoermann 1993, J. Stat. Comput. Simul. 46).
Tensor binomial(const Tensor& count, const Tensor& prob);

}  // namespace tandem
