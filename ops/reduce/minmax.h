// Extremes and their indices: max, min, amax, amin, aminmax, argmax, argmin, amax_out, amin_out. core/reduce_ops.h says
// how lists of dimensions are given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the largest element; NaN if there is one. Equal elements share the gradient evenly.
inline Tensor amax(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.amax(dims, keepdim);
}
Tensor& amax_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// Returns the smallest element; NaN if there is one. Equal elements share the gradient evenly.
inline Tensor amin(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.amin(dims, keepdim);
}
Tensor& amin_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
/// Returns the largest or the smallest of all elements; NaN if there is one. Equal elements share the gradient evenly.
/// @throws IndexError if x has no elements
inline Tensor max(const Tensor& x) { return x.max(); }
inline Tensor min(const Tensor& x) { return x.min(); }
/// Aliases of maximum(a, b) and minimum(a, b), elementwise.
inline Tensor max(const Tensor& a, const Tensor& b) { return a.maximum(b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return a.minimum(b); }
/// Returns (values, indices) along dim. If several elements are equal to the extreme, the index is the position of the
/// first one, and only the first one gets the gradient.
inline std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.max(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.min(dim, keepdim);
}
/// Returns the index of the largest element, int64: along dim, or, if dim is not given, in row-major order over all
/// elements. If several are equal, the first one's index is returned. A NaN counts as largest.
inline Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmax(dim, keepdim);
}
/// Returns the index of the smallest element, as argmax does; a NaN counts as smallest.
inline Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmin(dim, keepdim);
}
/// Returns (smallest, largest) element, along dim or over all elements. Equal elements share the gradient.
inline std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                          detail::Flag keepdim = false) {
  return x.aminmax(dim, keepdim);
}

}  // namespace tandem
