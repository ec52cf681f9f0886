// Filling with one number: fill, zero, and both in place.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// A tensor of x's sizes, dtype and strides with one number everywhere; its gradient for x is 0. A tensor for value has
/// no dimension, and gets the sum of the gradients.
Tensor fill(const Tensor& x, const Scalar& value);
Tensor fill(const Tensor& x, const Tensor& value);
/// Zeros of x's sizes, dtype and strides.
Tensor zero(const Tensor& x);
/// In place: every element becomes the value, or 0.
inline Tensor& fill_(Tensor& x, const Scalar& value) { return x.fill_(value); }
inline Tensor& fill_(Tensor& x, const Tensor& value) { return x.fill_(value); }
inline Tensor& zero_(Tensor& x) { return x.zero_(); }

}  // namespace tandem
