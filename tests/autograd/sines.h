// Inputs for tests of gradients.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/tandem.h"

namespace tandem::test {

/// Returns a leaf of uneven float64 numbers within 1 of `shift`.
inline Tensor sines(IntArrayRef sizes, double shift = 0) {
  return (arange(numel_of(sizes), kFloat64).add(1).mul(0.37).sin() + shift).view(sizes).detach().requires_grad_();
}

}  // namespace tandem::test
