// Choices of elements of vectors: cartesian_prod, combinations.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// All rows that take one element of each vector, the last changing first; of one vector itself.
Tensor cartesian_prod(TensorList tensors);
/// All rows of r elements of a vector, in its order; with_replacement: of an element as often as there is room.
Tensor combinations(const Tensor& x, int64_t r = 2, detail::Flag with_replacement = false);

}  // namespace tandem
