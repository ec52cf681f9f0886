// Filling with one number: fill, zero, and their in-place versions.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a tensor with the sizes, dtype and layout of clone(x), filled with one number. The gradient of x is 0. If
/// value is a tensor, it must be 0-dim; its gradient is the sum of the result's gradient.
Tensor fill(const Tensor& x, const Scalar& value);
Tensor fill(const Tensor& x, const Tensor& value);
/// Returns zeros with the sizes, dtype and layout of clone(x).
Tensor zero(const Tensor& x);
/// In-place versions: set every element to the value, or to 0.
inline Tensor& fill_(Tensor& x, const Scalar& value) { return x.fill_(value); }
inline Tensor& fill_(Tensor& x, const Tensor& value) { return x.fill_(value); }
inline Tensor& zero_(Tensor& x) { return x.zero_(); }

}  // namespace tandem
