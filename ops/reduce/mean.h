// Means over all elements or some dimensions: mean, nanmean, mean_out. core/reduce_ops.h says how lists of dimensions
// are given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the mean of floating-point elements; NaN if there are none.
inline Tensor mean(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.mean(dims, keepdim);
}
Tensor& mean_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// Returns the mean of the elements after conversion to a floating dtype.
inline Tensor mean(const Tensor& x, std::optional<DType> dtype) { return x.mean(dtype); }
inline Tensor mean(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.mean(dims, keepdim, dtype);
}
/// Returns the mean of the elements that are not NaN, for floating dtypes only.
inline Tensor nanmean(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.nanmean(dims, keepdim);
}
/// Returns nanmean of the elements after conversion to a floating dtype.
inline Tensor nanmean(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.nanmean(dims, keepdim, dtype);
}

}  // namespace tandem
