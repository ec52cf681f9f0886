// Random permutations: randperm.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Draws from the device's generator (core/generator.h): manual_seed() makes the permutation repeatable.

/// Returns the numbers 0 to n - 1 in random order, int64 unless the options set another dtype.
Tensor randperm(int64_t n, const TensorOptions& options = {});

}  // namespace tandem
