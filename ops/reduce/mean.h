// Means: mean and nanmean, over all elements or some dimensions; mean_out.
// core/reduce_ops.h says how a list of dimensions is given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The mean of floating-point numbers; of none NaN.
inline Tensor mean(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.mean(dims, keepdim);
}
Tensor& mean_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// In another dtype, a floating one, to which the elements are converted first.
inline Tensor mean(const Tensor& x, DType dtype) { return x.mean(dtype); }
inline Tensor mean(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.mean(dims, keepdim, dtype);
}
/// The mean of the elements that are not NaN, of floating-point numbers only.
inline Tensor nanmean(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.nanmean(dims, keepdim);
}
/// nanmean of x in another dtype.
inline Tensor nanmean(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.nanmean(dims, keepdim, dtype);
}

}  // namespace tandem
