// p-norms: norm, and renorm, which scales slices down to a maximum norm.
// core/reduce_ops.h says how a list of dimensions is given.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (sum |x|^p)^(1/p) of real numbers, all or over some dims; p may be infinite, but for no elements only 0 or more. For
/// p = 2 squares are summed in double; for other p elements are divided by the largest first. So a norm of float32 or
/// a half type, and its gradient, is accurate if the result fits the dtype; for p = 1 sums are float32.
inline Tensor norm(const Tensor& x, double p = 2) { return x.norm(p); }
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.norm(p, dims, keepdim);
}
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim, DType dtype) {
  return x.norm(p, dims, keepdim, dtype);
}
/// x with each slice along dim whose p-norm is above maxnorm made that short. @throws Error unless x is of two
/// dimensions or more, p is positive and maxnorm not negative
inline Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return x.renorm(p, dim, maxnorm);
}

}  // namespace tandem
