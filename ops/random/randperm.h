// Random permutations: randperm.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Drawn from the device's generator (core/generator.h): manual_seed() makes it repeat.

/// The numbers 0 to n - 1 in an order drawn at random, int64 unless the options say otherwise.
Tensor randperm(int64_t n, const TensorOptions& options = {});

}  // namespace tandem
