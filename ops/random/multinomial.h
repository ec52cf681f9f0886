// Positions drawn with given probabilities: multinomial.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// num_samples positions, int64, drawn with the probabilities of x (n) or of each row of x (rows, n), which need not
/// add up to 1: with replacement, or each at most once. @throws Error unless num_samples is from 1 to n, or above 0
inline Tensor multinomial(const Tensor& x, int64_t num_samples, detail::Flag replacement = false) {
  return x.multinomial(num_samples, replacement);
}

}  // namespace tandem
