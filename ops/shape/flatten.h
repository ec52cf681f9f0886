// Merging and splitting dimensions: flatten, unflatten, ravel. They copy if the strides do not allow a view.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name.

inline Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1) {
  return x.flatten(start_dim, end_dim);
}
inline Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) { return x.unflatten(dim, sizes); }
/// Flattens all dimensions into one: a view if x is contiguous, otherwise a copy.
inline Tensor ravel(const Tensor& x) { return x.ravel(); }

}  // namespace tandem
