// index_fill: fills the slices that a 1-d index names with one number.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Fills the slices of x along dim that a 1-d index names, from the end where it is negative, with one number. It may
/// be a tensor of no dimension, which gets the sum of their gradients.
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.index_fill(dim, index, value);
}
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return x.index_fill(dim, index, value);
}

}  // namespace tandem
