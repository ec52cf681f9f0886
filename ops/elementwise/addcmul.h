// Sums with a scaled product or quotient: addcmul, addcdiv.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns x + value * a * b. If all tensors have integer dtypes, so has the result, and the fraction of `value` is
/// dropped, as in PyTorch.
inline Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcmul(a, b, value);
}
/// Returns x + value * a / b. @throws Error unless a or b has a floating dtype
inline Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcdiv(a, b, value);
}

}  // namespace tandem
