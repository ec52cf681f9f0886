// Parts of a tensor along a dimension: select, slice, narrow, and their copies.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name and return views of x.

inline Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow(dim, start, length);
}
inline Tensor narrow(const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
  return x.narrow(dim, start, length);
}
inline Tensor select(const Tensor& x, int64_t dim, int64_t index) { return x.select(dim, index); }
inline Tensor slice(const Tensor& x, int64_t dim = 0, std::optional<int64_t> start = {},
                    std::optional<int64_t> end = {}, int64_t step = 1) {
  return x.slice(dim, start, end, step);
}
/// narrow() as a contiguous copy.
inline Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow_copy(dim, start, length);
}
/// select() as a contiguous copy.
template <class... Args> Tensor select_copy(const Tensor& x, Args... args) {
  return x.select(args...).clone(MemoryFormat::Contiguous);
}
/// slice() as a contiguous copy.
template <class... Args> Tensor slice_copy(const Tensor& x, Args... args) {
  return x.slice(args...).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
