// Changing the size of a tensor: resize_, resize_as_, resize, resize_as. set_ and set_data are methods only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the in-place methods of the same name.

inline const Tensor& resize_(const Tensor& x, IntArrayRef sizes, std::optional<MemoryFormat> format = {}) {
  return x.resize_(sizes, format);
}
inline const Tensor& resize_as_(const Tensor& x, const Tensor& other, std::optional<MemoryFormat> format = {}) {
  return x.resize_as_(other, format);
}
/// Return a resized copy of x; see the methods resize_ and resize_as_.
inline Tensor resize(const Tensor& x, IntArrayRef sizes, std::optional<MemoryFormat> format = {}) {
  return x.clone().resize_(sizes, format);
}
inline Tensor resize_as(const Tensor& x, const Tensor& other, std::optional<MemoryFormat> format = {}) {
  return x.clone().resize_as_(other, format);
}

}  // namespace tandem
