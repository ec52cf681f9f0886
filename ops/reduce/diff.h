// Differences of neighbours along a dimension: diff.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the difference between each element and the one before it along dim, applied n times; for bool, whether they
/// differ. `prepend` and `append`, if defined, are concatenated before and after x first.
inline Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
                   const Tensor& append = {}) {
  return x.diff(n, dim, prepend, append);
}

}  // namespace tandem
