// Writing by index and by mask. Each is a copy of x with something written into it, x.name(...) too; the methods whose
// names end in _ write into x itself. Indices are int64 or int32; source has x's dtype and device.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// Reads, or writes `value` (which broadcasts) to, the places that several index tensors point to together; an entry
/// that is missing stands for all of its dimension. With `accumulate` values are added, to what comes twice twice.
Tensor index(const Tensor& x, ArrayRef<std::optional<Tensor>> indices);
Tensor& index_put_(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                   detail::Flag accumulate = false);
Tensor index_put(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                 detail::Flag accumulate = false);

/// Adds alpha times the slices of source along dim to (index_add), or writes them over (index_copy), those of x that a
/// 1-d index names.
inline Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                        const Scalar& alpha = 1) {
  return x.index_add(dim, index, source, alpha);
}
inline Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.index_copy(dim, index, source);
}
/// Fills the slices of x along dim that a 1-d index names, from the end where it is negative, with one number. It may
/// be a tensor of no dimension, which gets the sum of their gradients.
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.index_fill(dim, index, value);
}
inline Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return x.index_fill(dim, index, value);
}
/// Joins slices of source that meet in one slice of x: reduce is "prod", "mean", "amax" or "amin", and of
/// scatter_reduce, which goes by elements as scatter does, "sum" too. What x had there counts as well, unless
/// include_self is false. Means of integers are rounded down. Extremes share the gradient evenly where several are
/// equal; x's element takes a share even if include_self is false, which is then lost, as in PyTorch.
inline Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                           const std::string& reduce, detail::Flag include_self = true) {
  return x.index_reduce(dim, index, source, reduce, include_self);
}
inline Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                             const std::string& reduce, detail::Flag include_self = true) {
  return x.scatter_reduce(dim, index, source, reduce, include_self);
}
/// The elements of x at these places in row-major order, from the end where negative, in index's shape.
inline Tensor take(const Tensor& x, const Tensor& index) { return x.take(index); }
/// Writes (or adds) as many elements of source as index has to the places that take reads.
inline Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, detail::Flag accumulate = false) {
  return x.put(index, source, accumulate);
}
/// gather, of x and indices that broadcast in all dimensions but dim. An index outside the size of dim counts modulo
/// it. Without dim, x and indices are flattened in row-major order, and an index outside throws IndexError.
inline Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {}) {
  return x.take_along_dim(indices, dim);
}
/// scatter of one number; with `reduce`, "add" or "multiply", it is joined with what was there.
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.scatter(dim, index, value);
}
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                      const std::string& reduce) {
  return x.scatter(dim, index, source, reduce);
}
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value,
                      const std::string& reduce) {
  return x.scatter(dim, index, value, reduce);
}
/// x with source in the place of x.select(dim, index), x.slice(...), x.diagonal(...), x.as_strided(...), which gives
/// the shape that source must have. as_strided_scatter takes an x whose elements lie without gaps.
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
/// The elements of source, in order, where mask, which broadcasts with x, is true. @throws Error where source has fewer
inline Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  return x.masked_scatter(mask, source);
}

}  // namespace tandem
