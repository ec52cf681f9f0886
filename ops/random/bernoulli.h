// Bernoulli-distributed numbers: bernoulli, bernoulli_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns 1 with the probability that each element of a floating-point x gives, and 0 otherwise, in x's dtype. If p is
/// given, one number or a tensor that broadcasts to x, then p is the probability, and x determines only the shape and
/// dtype.
inline Tensor bernoulli(const Tensor& x) { return x.bernoulli(); }
inline Tensor bernoulli(const Tensor& x, double p) { return x.bernoulli(p); }
inline Tensor bernoulli(const Tensor& x, const Tensor& p) { return x.bernoulli(p); }

}  // namespace tandem
