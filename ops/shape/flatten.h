// Dimensions as one, and one as several: flatten, unflatten, ravel. They copy where strides do not allow a view.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names.

inline Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1) {
  return x.flatten(start_dim, end_dim);
}
inline Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) { return x.unflatten(dim, sizes); }
/// reshape({-1}): all elements in one dimension, as a view where the strides allow.
inline Tensor ravel(const Tensor& x) { return x.ravel(); }

}  // namespace tandem
