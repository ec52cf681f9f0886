// Sums: sum and nansum, over all elements or some dimensions; sum_out.
// core/reduce_ops.h says how a list of dimensions is given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The sum; of integers and bools int64.
inline Tensor sum(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) { return x.sum(dims, keepdim); }
Tensor& sum_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// In another dtype, to which the elements are converted first.
inline Tensor sum(const Tensor& x, DType dtype) { return x.sum(dtype); }
inline Tensor sum(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.sum(dims, keepdim, dtype);
}
/// The sum of the elements that are not NaN.
inline Tensor nansum(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.nansum(dims, keepdim);
}
/// nansum of x in another dtype.
inline Tensor nansum(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.nansum(dims, keepdim, dtype);
}

}  // namespace tandem
