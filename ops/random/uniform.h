// Uniform numbers: uniform, uniform_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// The result has x's shape and dtype. The method uniform_ writes into x itself.

/// Returns uniform numbers in [from, to).
Tensor uniform(const Tensor& x, double from = 0, double to = 1);

}  // namespace tandem
