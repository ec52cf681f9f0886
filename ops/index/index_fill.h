// index_fill: sets the slices whose positions a 1-d index lists to one number. index_fill returns a changed copy of x;
// the method index_fill_ changes x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Sets slices of x along dim to one number. `index` (1-d) lists the positions of the slices. Negative positions count
/// from the end. If value is a tensor, it must be 0-dim; its gradient is the sum of the gradients of the filled
/// elements.
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.index_fill(dim, index, value);
}
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return x.index_fill(dim, index, value);
}

}  // namespace tandem
