// Dropout. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Zeroes each element with probability p and scales the rest by 1 / (1 - p); x itself outside training.
Tensor dropout(const Tensor& x, double p = 0.5, detail::Flag training = true);
/// As dropout, whole channels of (N, C, ...) at a time.
Tensor dropout2d(const Tensor& x, double p = 0.5, detail::Flag training = true);

}  // namespace tandem
