// Views of all elements: view_copy, reshape, alias, detach, lift, with their copies. Tensor::view is a method only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names. All but reshape, which copies where strides do not allow a view, share x's storage.

inline Tensor reshape(const Tensor& x, IntArrayRef sizes) { return x.reshape(sizes); }
inline Tensor alias(const Tensor& x) { return x.alias(); }
inline Tensor detach(const Tensor& x) { return x.detach(); }
inline Tensor& detach_(Tensor& x) { return x.detach_(); }
/// view() with storage of its own, row-major.
inline Tensor view_copy(const Tensor& x, IntArrayRef list) { return x.view(list).clone(MemoryFormat::Contiguous); }
inline Tensor view_copy(const Tensor& x, DType dtype) { return x.view(dtype).clone(MemoryFormat::Contiguous); }
/// alias() with storage of its own, row-major.
template <class... Args> Tensor alias_copy(const Tensor& x, Args... args) {
  return x.alias(args...).clone(MemoryFormat::Contiguous);
}
/// detach() with storage of its own, row-major.
template <class... Args> Tensor detach_copy(const Tensor& x, Args... args) {
  return x.detach(args...).clone(MemoryFormat::Contiguous);
}
/// A copy: clone(x).
inline Tensor lift_fresh_copy(const Tensor& x) { return x.clone(); }
/// x itself: in LibTorch a mark for transforms that Tandem has not.
inline Tensor lift(const Tensor& x) { return x; }
inline Tensor lift_fresh(const Tensor& x) { return x; }

}  // namespace tandem
