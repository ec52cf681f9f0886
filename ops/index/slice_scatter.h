// Replacing the elements of a view: slice_scatter, select_scatter, diagonal_scatter and as_strided_scatter.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Return a copy of x in which source replaces x.select(dim, index), x.slice(...), x.diagonal(...) or
/// x.as_strided(...). source must have the shape of that view. as_strided_scatter requires a dense x.
inline Tensor select_scatter(const Tensor& x, const Tensor& source, int64_t dim, int64_t index) {
  return x.select_scatter(source, dim, index);
}
inline Tensor slice_scatter(const Tensor& x, const Tensor& source, int64_t dim = 0, std::optional<int64_t> start = {},
                            std::optional<int64_t> end = {}, int64_t step = 1) {
  return x.slice_scatter(source, dim, start, end, step);
}
inline Tensor diagonal_scatter(const Tensor& x, const Tensor& source, int64_t offset = 0, int64_t dim1 = 0,
                               int64_t dim2 = 1) {
  return x.diagonal_scatter(source, offset, dim1, dim2);
}
inline Tensor as_strided_scatter(const Tensor& x, const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                                 std::optional<int64_t> storage_offset = {}) {
  return x.as_strided_scatter(source, sizes, strides, storage_offset);
}

}  // namespace tandem
