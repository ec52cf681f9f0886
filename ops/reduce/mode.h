// mode: the most frequent element along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (the element that is there most often, of several the smallest, the last of its positions) along dim. A NaN is
/// unequal to every other: it is chosen, the first of them, only where there is nothing else.
inline std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, detail::Flag keepdim = false) {
  return x.mode(dim, keepdim);
}

}  // namespace tandem
