// The most frequent element along a dimension: mode.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns (values, indices) of the most frequent elements along dim. If several are equally frequent, the smallest is
/// chosen. The index is the position of the last occurrence. NaNs are not equal to each other, so NaN is chosen only if
/// all elements are NaN; then the index is the position of the first NaN.
inline std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, detail::Flag keepdim = false) {
  return x.mode(dim, keepdim);
}

}  // namespace tandem
