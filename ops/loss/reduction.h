// Reduction: none, mean or sum of the losses of single elements.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// What becomes of the losses of single elements. The capital names are LibTorch's.
enum class Reduction { none, mean, sum, None = none, Mean = mean, Sum = sum };

}  // namespace tandem
