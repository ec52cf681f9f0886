// index_add: adds slices to the slices that a 1-d index names.
// index_add returns a changed copy of x; the method index_add_ changes x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Adds alpha times slice i of source along dim to the slice of x at position index[i]. index is 1-d; source has x's
/// sizes, but along dim as many slices as index has elements.
inline Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                        const Scalar& alpha = 1) {
  return x.index_add(dim, index, source, alpha);
}

}  // namespace tandem
