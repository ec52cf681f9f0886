// Reduction of elementwise losses: none, mean or sum.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reduction of elementwise losses. The capitalized names are LibTorch's.
enum class Reduction { none, mean, sum, None = none, Mean = mean, Sum = sum };

}  // namespace tandem
