// Views with any sizes and strides: as_strided, as_strided_, as_strided_copy.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name.

inline Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                         std::optional<int64_t> storage_offset = {}) {
  return x.as_strided(sizes, strides, storage_offset);
}
inline Tensor& as_strided_(Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                           std::optional<int64_t> storage_offset = {}) {
  return x.as_strided_(sizes, strides, storage_offset);
}
/// as_strided() as a contiguous copy.
inline Tensor as_strided_copy(const Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                              std::optional<int64_t> storage_offset = {}) {
  return x.as_strided(sizes, strides, storage_offset).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
