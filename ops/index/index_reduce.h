// index_reduce: reduces slices that are assigned to the same position.
// index_reduce returns a changed copy of x; the method index_reduce_ changes x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reduces the slices of source along dim that a 1-d index assigns to the same slice of x, by "prod", "mean", "amax" or
/// "amin". The slice of x takes part unless include_self is false. Means of integers are rounded down. For amax and
/// amin, equal extremes share the gradient evenly. If include_self is false, an element of x equal to the extreme still
/// counts in this division, and its share is lost, as in PyTorch.
inline Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                           const std::string& reduce, detail::Flag include_self = true) {
  return x.index_reduce(dim, index, source, reduce, include_self);
}

}  // namespace tandem
