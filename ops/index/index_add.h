// index_add: adds slices to the slices that a 1-d index names.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Adds alpha times the slices of source along dim to (index_add), or writes them over (index_copy), those of x that a
/// 1-d index names.
inline Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                        const Scalar& alpha = 1) {
  return x.index_add(dim, index, source, alpha);
}

}  // namespace tandem
