// Removing and adding dimensions of size 1: squeeze, unsqueeze, and their copies.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name and return views of x.

inline Tensor squeeze(const Tensor& x) { return x.squeeze(); }
inline Tensor squeeze(const Tensor& x, int64_t dim) { return x.squeeze(dim); }
inline Tensor squeeze(const Tensor& x, IntArrayRef dims) { return x.squeeze(dims); }
inline Tensor unsqueeze(const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }
/// squeeze() as a contiguous copy.
template <class... Args> Tensor squeeze_copy(const Tensor& x, Args... args) {
  return x.squeeze(args...).clone(MemoryFormat::Contiguous);
}
inline Tensor squeeze_copy(const Tensor& x, IntArrayRef list) {
  return x.squeeze(list).clone(MemoryFormat::Contiguous);
}
/// unsqueeze() as a contiguous copy.
template <class... Args> Tensor unsqueeze_copy(const Tensor& x, Args... args) {
  return x.unsqueeze(args...).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
