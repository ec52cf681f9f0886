// Counts: poisson, binomial.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// How often something happens whose expected number is each element of x; of x's dtype. The host draws: by products of
/// uniform numbers below 10, else by transformed rejection (Hoermann 1993, Insurance: Mathematics and Economics 12).
Tensor poisson(const Tensor& x);
/// How many of `count` trials succeed, each with probability prob; both of one floating dtype, and broadcast. The host
/// draws: by waiting times where few are expected, else by transformed rejection (Hoermann 1993, J. Stat. Comput.
/// Simul. 46).
Tensor binomial(const Tensor& count, const Tensor& prob);

}  // namespace tandem
