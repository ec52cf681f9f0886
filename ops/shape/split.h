// Splitting tensors into parts: split, split_with_sizes, chunk, unbind, tensor_split, hsplit, vsplit, dsplit,
// unsafe_split, unsafe_split_with_sizes, unsafe_chunk, and copies of the parts.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name and return views of x.

inline std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) { return x.chunk(chunks, dim); }
inline std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0) { return x.split(size, dim); }
inline std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) { return x.split(sizes, dim); }
inline std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) {
  return x.split(sizes, dim);
}
inline std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0) { return x.unbind(dim); }
/// Splits x along dim, either into `sections` parts of nearly equal size (the first ones may be longer by one), or at
/// each of the indices, which may be out of range.
inline std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0) {
  return x.tensor_split(sections, dim);
}
inline std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim = 0) {
  return x.tensor_split(indices, dim);
}
inline std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& indices_or_sections, int64_t dim = 0) {
  return x.tensor_split(indices_or_sections, dim);
}
/// tensor_split along dimension 1 (hsplit; 0 for vectors), 0 (vsplit) and 2 (dsplit). @throws Error unless `sections`
/// divides the size
inline std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) { return x.hsplit(sections); }
inline std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices) { return x.hsplit(indices); }
inline std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) { return x.vsplit(sections); }
inline std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices) { return x.vsplit(indices); }
inline std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) { return x.dsplit(sections); }
inline std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices) { return x.dsplit(indices); }
/// Like split, split_with_sizes and unbind, but return copies of the parts.
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
/// Like chunk, split and split_with_sizes, but return copies of the parts, which may therefore be changed in place.
inline std::vector<Tensor> unsafe_chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) {
  return x.unsafe_chunk(chunks, dim);
}
inline std::vector<Tensor> unsafe_split(const Tensor& x, int64_t size, int64_t dim = 0) {
  return x.unsafe_split(size, dim);
}
inline std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) {
  return x.unsafe_split_with_sizes(sizes, dim);
}

}  // namespace tandem
