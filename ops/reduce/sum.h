// Sums over all elements or some dimensions: sum, nansum, sum_out. core/reduce_ops.h says how lists of dimensions are
// given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the sum. The dtype is int64 for integers and bool.
inline Tensor sum(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) { return x.sum(dims, keepdim); }
Tensor& sum_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// Returns the sum of the elements after conversion to another dtype.
inline Tensor sum(const Tensor& x, std::optional<DType> dtype) { return x.sum(dtype); }
inline Tensor sum(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.sum(dims, keepdim, dtype);
}
/// Returns the sum of the elements that are not NaN.
inline Tensor nansum(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.nansum(dims, keepdim);
}
/// Returns nansum of the elements after conversion to another dtype.
inline Tensor nansum(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.nansum(dims, keepdim, dtype);
}

}  // namespace tandem
