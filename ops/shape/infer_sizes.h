// The size that -1 stands for in view, reshape and unflatten. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Sizes with their one -1 filled in so that they hold as many elements as `held`.
inline Shape infer_sizes(const char* op, IntArrayRef held, IntArrayRef wanted) {
  const int64_t numel = numel_of(held);
  Shape sizes = wanted;
  int64_t known = 1, missing = -1;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(sizes[d] >= -1, op, ": sizes ", wanted, " hold a negative number; only one -1 may stand for the rest");
    if (sizes[d] == -1) {
      TANDEM_CHECK(missing < 0, op, ": sizes ", wanted, " hold -1 more than once");
      missing = static_cast<int64_t>(d);
    } else {
      overflow |= __builtin_mul_overflow(known, sizes[d], &known);
    }
  }
  const bool fits = !overflow && (missing < 0 ? known == numel : known != 0 && numel % known == 0);
  TANDEM_CHECK(fits, op, ": ", held, " has ", numel, " elements, which sizes ", wanted, " cannot hold");
  if (missing >= 0) sizes[static_cast<size_t>(missing)] = numel / known;
  return sizes;
}

}  // namespace tandem::detail
