// index_fill: fills the slices that a 1-d index names with one number.
// index_fill returns a changed copy of x; the method index_fill_ changes x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Fills the slices of x along dim whose positions a 1-d index lists with one number. Negative positions count from the
/// end. If value is a tensor, it must be 0-dim; its gradient is the sum of the gradients of the filled elements.
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.index_fill(dim, index, value);
}
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return x.index_fill(dim, index, value);
}

}  // namespace tandem
