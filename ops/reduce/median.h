// Medians: median and nanmedian, over all elements or along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the median of all elements; of two middle elements the smaller one. median returns NaN if there is a NaN;
/// nanmedian ignores NaNs, unless all elements are NaN. Elements equal to the median share the gradient.
inline Tensor median(const Tensor& x) { return x.median(); }
inline Tensor nanmedian(const Tensor& x) { return x.nanmedian(); }
/// Returns (medians, indices) along dim. The gradient goes to the element at the index.
inline std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.median(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.nanmedian(dim, keepdim);
}

}  // namespace tandem
