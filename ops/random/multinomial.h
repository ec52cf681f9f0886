// Indices drawn with given probabilities: multinomial.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Draws num_samples indices, int64, with the probabilities of x (n), or of each row of x (rows, n). Probabilities need
/// not sum to 1. Without replacement each index is drawn at most once.
/// @throws Error unless num_samples is positive, and, without replacement, at most n; and, on the CPU, if a probability
/// is negative or not finite, or those of a row sum to 0
inline Tensor multinomial(const Tensor& x, int64_t num_samples, detail::Flag replacement = false) {
  return x.multinomial(num_samples, replacement);
}

}  // namespace tandem
