// Filling where a mask is true: masked_fill.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns x with `value`, a number or a 0-dim tensor, where the bool tensor mask is true. x and mask broadcast.
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return x.masked_fill(mask, value);
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  return x.masked_fill(mask, value);
}

}  // namespace tandem
