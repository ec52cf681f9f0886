// index_copy: replaces the slices that a 1-d index names.
// index_copy returns a changed copy of x; the method index_copy_ changes x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Copies slice i of source along dim over the slice of x at position index[i]. index is 1-d; source has x's sizes, but
/// along dim as many slices as index has elements.
inline Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.index_copy(dim, index, source);
}

}  // namespace tandem
