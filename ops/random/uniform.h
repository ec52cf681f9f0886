// Uniform numbers: uniform, uniform_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Of x's shape and dtype; the method of this name with a _ at its end draws into x itself.

/// Uniform in [from, to).
Tensor uniform(const Tensor& x, double from = 0, double to = 1);

}  // namespace tandem
