// put: writes or adds elements at flat positions.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Writes (or adds) as many elements of source as index has to the places that take reads.
inline Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, detail::Flag accumulate = false) {
  return x.put(index, source, accumulate);
}

}  // namespace tandem
