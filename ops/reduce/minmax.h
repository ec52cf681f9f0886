// Extremes and their positions: max, min, amax, amin, aminmax, argmax and argmin; amax_out and amin_out.
// core/reduce_ops.h says how a list of dimensions is given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The largest; a NaN wins; equal ones share the gradient evenly.
inline Tensor amax(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.amax(dims, keepdim);
}
Tensor& amax_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// The smallest; a NaN wins; equal ones share the gradient evenly.
inline Tensor amin(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.amin(dims, keepdim);
}
Tensor& amin_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// The largest and the smallest element of all; a NaN wins. Equal ones share the gradient evenly.
/// @throws IndexError where there is no element
inline Tensor max(const Tensor& x) { return x.max(); }
inline Tensor min(const Tensor& x) { return x.min(); }
/// maximum(a, b) and minimum(a, b), elementwise.
inline Tensor max(const Tensor& a, const Tensor& b) { return a.maximum(b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return a.minimum(b); }
/// (values, positions); of several equal extremes the first, and the gradient goes to that one.
inline std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.max(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.min(dim, keepdim);
}
/// Where the largest element is, int64: along dim, or without one among all elements in row-major order. Of equal ones
/// the first; a NaN wins.
inline Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmax(dim, keepdim);
}
/// Where the smallest element is, as argmax.
inline Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmin(dim, keepdim);
}
/// (smallest, largest); equal ones share the gradient.
inline std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                          detail::Flag keepdim = false) {
  return x.aminmax(dim, keepdim);
}

}  // namespace tandem
