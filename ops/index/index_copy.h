// index_copy: replaces the slices that a 1-d index names.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Adds alpha times the slices of source along dim to (index_add), or writes them over (index_copy), those of x that a
/// 1-d index names.
inline Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.index_copy(dim, index, source);
}

}  // namespace tandem
