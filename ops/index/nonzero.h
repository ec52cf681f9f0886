// Non-zero elements: nonzero, nonzero_static, nonzero_numpy, argwhere, count_nonzero, is_nonzero. None has a
// derivative.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Positions of non-zero elements: (count, dim) int64.
Tensor nonzero(const Tensor& x);
/// The positions of what is not 0, as nonzero gives them; nonzero_numpy: a vector for each dimension.
inline Tensor argwhere(const Tensor& x) { return x.argwhere(); }
inline std::vector<Tensor> nonzero_numpy(const Tensor& x) { return x.nonzero_numpy(); }
/// The first `size` rows of nonzero(x); where there are fewer, rows of fill_value follow. A Graph may record it.
inline Tensor nonzero_static(const Tensor& x, int64_t size, int64_t fill_value = -1) {
  return x.nonzero_static(size, fill_value);
}
/// How many elements are not 0, as int64: over all dimensions, some, or one.
inline Tensor count_nonzero(const Tensor& x, IntArrayRef dims = {}) { return x.count_nonzero(dims); }
/// Whether the one element of x is not 0.
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }

}  // namespace tandem
