// Sums of products along pairs of dimensions: tensordot.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the sum of products along pairs of dimensions: the k-th of dims_a with the k-th of dims_b. The result has
/// the other dimensions of a, followed by the other dimensions of b. A size of 1 broadcasts.
Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b);

}  // namespace tandem
