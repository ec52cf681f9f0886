// Dimensions in another order: transpose, t, permute, movedim, moveaxis, swapaxes, swapdims, adjoint.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Views: they share x's storage.

inline Tensor transpose(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
inline Tensor permute(const Tensor& x, IntArrayRef dims) { return x.permute(dims); }
inline Tensor adjoint(const Tensor& x) { return x.adjoint(); }
/// x with the dimensions `source` moved to the places `destination`; the others keep their order.
/// @throws Error unless both lists are of one length and name each dimension once
inline Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor movedim(const Tensor& x, int64_t source, int64_t destination) { return x.movedim(source, destination); }
// Other spellings of movedim and transpose.

inline Tensor moveaxis(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination) { return x.movedim(source, destination); }
inline Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) { return x.transpose(axis0, axis1); }
inline Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) { return x.transpose(dim0, dim1); }
inline Tensor t(const Tensor& x) { return x.t(); }
/// t() with storage of its own, row-major.
template <class... Args> Tensor t_copy(const Tensor& x, Args... args) {
  return x.t(args...).clone(MemoryFormat::Contiguous);
}
/// transpose() with storage of its own, row-major.
template <class... Args> Tensor transpose_copy(const Tensor& x, Args... args) {
  return x.transpose(args...).clone(MemoryFormat::Contiguous);
}
/// permute() with storage of its own, row-major.
inline Tensor permute_copy(const Tensor& x, IntArrayRef list) {
  return x.permute(list).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
