// Sums with a scaled product or quotient: addcmul, addcdiv, in place too.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// x + value a b; integers stay integers, and then the fraction of `value` is cut off, as in PyTorch.
inline Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcmul(a, b, value);
}
/// x + value a / b. @throws Error where a and b are both of integers or bool
inline Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcdiv(a, b, value);
}

}  // namespace tandem
