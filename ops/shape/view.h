// Views of a whole tensor (reshape, alias, detach, lift), and functions that return such a view as a copy (view_copy,
// alias_copy, ...). Tensor::view is a method only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name and return views of x; but reshape copies if the strides do not
// allow a view.

inline Tensor reshape(const Tensor& x, IntArrayRef sizes) { return x.reshape(sizes); }
inline Tensor alias(const Tensor& x) { return x.alias(); }
inline Tensor detach(const Tensor& x) { return x.detach(); }
inline Tensor& detach_(Tensor& x) { return x.detach_(); }
/// view() as a contiguous copy.
inline Tensor view_copy(const Tensor& x, IntArrayRef list) { return x.view(list).clone(MemoryFormat::Contiguous); }
inline Tensor view_copy(const Tensor& x, DType dtype) { return x.view(dtype).clone(MemoryFormat::Contiguous); }
/// alias() as a contiguous copy.
template <class... Args> Tensor alias_copy(const Tensor& x, Args... args) {
  return x.alias(args...).clone(MemoryFormat::Contiguous);
}
/// detach() as a contiguous copy.
template <class... Args> Tensor detach_copy(const Tensor& x, Args... args) {
  return x.detach(args...).clone(MemoryFormat::Contiguous);
}
/// Returns a copy of x: clone(x).
inline Tensor lift_fresh_copy(const Tensor& x) { return x.clone(); }
/// Returns x itself. LibTorch uses lift for functional transforms, which Tandem does not have.
inline Tensor lift(const Tensor& x) { return x; }
inline Tensor lift_fresh(const Tensor& x) { return x; }

}  // namespace tandem
