// Medians: median and nanmedian, over all elements or along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The middle of the elements in order, of two the smaller one; a NaN wins, and nanmedian leaves NaNs out where there
/// is anything else. Equal ones share the gradient.
inline Tensor median(const Tensor& x) { return x.median(); }
inline Tensor nanmedian(const Tensor& x) { return x.nanmedian(); }
/// (medians, positions) along dim; the gradient goes to that position.
inline std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.median(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.nanmedian(dim, keepdim);
}

}  // namespace tandem
