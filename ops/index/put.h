// put: writes or adds elements at positions that count in row-major order over all dimensions. put returns a changed
// copy of x; the method put_ changes x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Writes the elements of source to the positions that take(x, index) reads, or adds them if accumulate. source must
/// have as many elements as index.
inline Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, detail::Flag accumulate = false) {
  return x.put(index, source, accumulate);
}

}  // namespace tandem
