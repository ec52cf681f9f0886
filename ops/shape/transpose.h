// Reordering dimensions: transpose, t, permute, movedim, moveaxis, swapaxes, swapdims, adjoint.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name and return views of x.

inline Tensor transpose(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
inline Tensor permute(const Tensor& x, IntArrayRef dims) { return x.permute(dims); }
inline Tensor adjoint(const Tensor& x) { return x.adjoint(); }
/// Returns a view of x with the dimensions `source` moved to the positions `destination`. The other dimensions keep
/// their order.
/// @throws Error unless the lists have equal length and name each dimension at most once
inline Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor movedim(const Tensor& x, int64_t source, int64_t destination) { return x.movedim(source, destination); }
// Aliases of movedim (moveaxis) and of transpose (swapaxes, swapdims), and a function that calls the method t.

inline Tensor moveaxis(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination) { return x.movedim(source, destination); }
inline Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) { return x.transpose(axis0, axis1); }
inline Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) { return x.transpose(dim0, dim1); }
inline Tensor t(const Tensor& x) { return x.t(); }
/// t() as a contiguous copy.
template <class... Args> Tensor t_copy(const Tensor& x, Args... args) {
  return x.t(args...).clone(MemoryFormat::Contiguous);
}
/// transpose() as a contiguous copy.
template <class... Args> Tensor transpose_copy(const Tensor& x, Args... args) {
  return x.transpose(args...).clone(MemoryFormat::Contiguous);
}
/// permute() as a contiguous copy.
inline Tensor permute_copy(const Tensor& x, IntArrayRef list) {
  return x.permute(list).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
