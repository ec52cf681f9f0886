// Filling where a mask holds: masked_fill.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// x with `value`, a number or a tensor of no dimension, where mask holds; both broadcast. mask is bool.
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return x.masked_fill(mask, value);
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  return x.masked_fill(mask, value);
}

}  // namespace tandem
