// Views: tensors that share storage. Methods of Tensor do most of it (core/tensor.h); these are the free functions.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names. All but reshape and flatten, which copy where strides do not allow a view, share
// x's storage.

inline Tensor reshape(const Tensor& x, IntArrayRef sizes) { return x.reshape(sizes); }
inline Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1) {
  return x.flatten(start_dim, end_dim);
}
inline Tensor transpose(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
inline Tensor permute(const Tensor& x, IntArrayRef dims) { return x.permute(dims); }
inline Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow(dim, start, length);
}
inline Tensor select(const Tensor& x, int64_t dim, int64_t index) { return x.select(dim, index); }
inline Tensor unsqueeze(const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }
inline Tensor squeeze(const Tensor& x) { return x.squeeze(); }
inline Tensor squeeze(const Tensor& x, int64_t dim) { return x.squeeze(dim); }
inline std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) { return x.chunk(chunks, dim); }
inline std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0) { return x.split(size, dim); }
inline std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) { return x.split(sizes, dim); }
inline std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0) { return x.unbind(dim); }
inline Tensor squeeze(const Tensor& x, IntArrayRef dims) { return x.squeeze(dims); }
inline Tensor slice(const Tensor& x, int64_t dim = 0, std::optional<int64_t> start = {},
                    std::optional<int64_t> end = {}, int64_t step = 1) {
  return x.slice(dim, start, end, step);
}
inline std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) {
  return x.split(sizes, dim);
}
inline Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                         std::optional<int64_t> storage_offset = {}) {
  return x.as_strided(sizes, strides, storage_offset);
}
inline Tensor alias(const Tensor& x) { return x.alias(); }
inline Tensor adjoint(const Tensor& x) { return x.adjoint(); }
inline Tensor detach(const Tensor& x) { return x.detach(); }
inline Tensor& detach_(Tensor& x) { return x.detach_(); }
/// The views of these names with storage of their own, row-major.
#define TANDEM_DECLARE(name)                                                   \
  template <class... Args> Tensor name##_copy(const Tensor& x, Args... args) { \
    return x.name(args...).clone(MemoryFormat::Contiguous);                    \
  }
TANDEM_DECLARE(alias)
TANDEM_DECLARE(detach)
TANDEM_DECLARE(diagonal)
TANDEM_DECLARE(select)
TANDEM_DECLARE(slice)
TANDEM_DECLARE(squeeze)
TANDEM_DECLARE(t)
TANDEM_DECLARE(transpose)
TANDEM_DECLARE(unfold)
TANDEM_DECLARE(unsqueeze)
#undef TANDEM_DECLARE
#define TANDEM_DECLARE(name) \
  inline Tensor name##_copy(const Tensor& x, IntArrayRef list) { return x.name(list).clone(MemoryFormat::Contiguous); }
TANDEM_DECLARE(expand)
TANDEM_DECLARE(permute)
TANDEM_DECLARE(squeeze)
TANDEM_DECLARE(view)
#undef TANDEM_DECLARE
inline Tensor view_copy(const Tensor& x, DType dtype) { return x.view(dtype).clone(MemoryFormat::Contiguous); }
inline Tensor as_strided_copy(const Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                              std::optional<int64_t> storage_offset = {}) {
  return x.as_strided(sizes, strides, storage_offset).clone(MemoryFormat::Contiguous);
}
inline Tensor lift_fresh_copy(const Tensor& x) { return x.clone(); }
/// The parts of split, split_with_sizes and unbind, each with storage of its own.
inline std::vector<Tensor> split_copy(const Tensor& x, int64_t size, int64_t dim = 0) {
  return x.unsafe_split(size, dim);
}
inline std::vector<Tensor> split_with_sizes_copy(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) {
  return x.unsafe_split_with_sizes(sizes, dim);
}
inline std::vector<Tensor> unbind_copy(const Tensor& x, int64_t dim = 0) {
  std::vector<Tensor> parts = x.unbind(dim);
  for (Tensor& part : parts) part = part.clone();
  return parts;
}
/// A copy of x with source's elements, or of other sizes: copy_, resize_ and resize_as_ of a copy.
inline Tensor copy(const Tensor& x, const Tensor& source, bool non_blocking = false) {
  return x.clone().copy_(source, non_blocking);
}
inline Tensor resize(const Tensor& x, IntArrayRef sizes, std::optional<MemoryFormat> format = {}) {
  return x.clone().resize_(sizes, format);
}
inline Tensor resize_as(const Tensor& x, const Tensor& other, std::optional<MemoryFormat> format = {}) {
  return x.clone().resize_as_(other, format);
}
/// Parts that share nothing: each may be changed in place.
inline std::vector<Tensor> unsafe_chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) {
  return x.unsafe_chunk(chunks, dim);
}
inline std::vector<Tensor> unsafe_split(const Tensor& x, int64_t size, int64_t dim = 0) {
  return x.unsafe_split(size, dim);
}
inline std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) {
  return x.unsafe_split_with_sizes(sizes, dim);
}
// In place: Tensor's methods of these names.

inline Tensor& as_strided_(Tensor& x, IntArrayRef sizes, IntArrayRef strides,
                           std::optional<int64_t> storage_offset = {}) {
  return x.as_strided_(sizes, strides, storage_offset);
}
inline const Tensor& resize_(const Tensor& x, IntArrayRef sizes, std::optional<MemoryFormat> format = {}) {
  return x.resize_(sizes, format);
}
inline const Tensor& resize_as_(const Tensor& x, const Tensor& other, std::optional<MemoryFormat> format = {}) {
  return x.resize_as_(other, format);
}
// Tensor's methods of these names, about a tensor.

inline bool is_same_size(const Tensor& x, const Tensor& other) { return x.is_same_size(other); }
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }
inline bool is_signed(const Tensor& x) { return x.is_signed(); }
/// x itself: in LibTorch a mark for transforms that Tandem has not.
inline Tensor lift(const Tensor& x) { return x; }
inline Tensor lift_fresh(const Tensor& x) { return x; }

}  // namespace tandem
