// masked_select: selects the elements where a mask is true.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the elements of x where mask is true, as a 1-d tensor. x and mask broadcast.
inline Tensor masked_select(const Tensor& x, const Tensor& mask) { return x.masked_select(mask); }

}  // namespace tandem
