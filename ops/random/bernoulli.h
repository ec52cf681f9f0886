// Bernoulli numbers: bernoulli, bernoulli_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// 1 with the probability that x's elements (floating point) say, else 0; of x's dtype. With p, one number or a tensor
/// that broadcasts to x, x gives shape and dtype only.
inline Tensor bernoulli(const Tensor& x) { return x.bernoulli(); }
inline Tensor bernoulli(const Tensor& x, double p) { return x.bernoulli(p); }
inline Tensor bernoulli(const Tensor& x, const Tensor& p) { return x.bernoulli(p); }

}  // namespace tandem
