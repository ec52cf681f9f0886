// diff: differences of neighbours along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// What each element differs from the one before, n times; of bool whether it does. `prepend` and `append`, if defined,
/// stand before and after x.
inline Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
                   const Tensor& append = {}) {
  return x.diff(n, dim, prepend, append);
}

}  // namespace tandem
