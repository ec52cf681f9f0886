// masked_select: selects the elements at which a mask is true.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements at which mask is true, as a 1-d tensor.
inline Tensor masked_select(const Tensor& x, const Tensor& mask) { return x.masked_select(mask); }

}  // namespace tandem
