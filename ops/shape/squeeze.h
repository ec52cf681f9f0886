// Dimensions of size 1: squeeze, unsqueeze, and their copies.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names; they share x's storage.

inline Tensor squeeze(const Tensor& x) { return x.squeeze(); }
inline Tensor squeeze(const Tensor& x, int64_t dim) { return x.squeeze(dim); }
inline Tensor squeeze(const Tensor& x, IntArrayRef dims) { return x.squeeze(dims); }
inline Tensor unsqueeze(const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }
/// squeeze() with storage of its own, row-major.
template <class... Args> Tensor squeeze_copy(const Tensor& x, Args... args) {
  return x.squeeze(args...).clone(MemoryFormat::Contiguous);
}
inline Tensor squeeze_copy(const Tensor& x, IntArrayRef list) {
  return x.squeeze(list).clone(MemoryFormat::Contiguous);
}
/// unsqueeze() with storage of its own, row-major.
template <class... Args> Tensor unsqueeze_copy(const Tensor& x, Args... args) {
  return x.unsqueeze(args...).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
