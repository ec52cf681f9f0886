// Combinations of the elements of vectors: cartesian_prod, combinations.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns all rows with one element of each vector, where the last element varies fastest. Returns a single vector
/// itself.
Tensor cartesian_prod(TensorList tensors);
/// Returns all rows of r elements of a vector, in the vector's order. If with_replacement, an element may occur several
/// times in a row.
Tensor combinations(const Tensor& x, int64_t r = 2, detail::Flag with_replacement = false);

}  // namespace tandem
