// Tensors cut into parts: split, split_with_sizes, chunk, unbind, tensor_split, hsplit, vsplit, dsplit, unsafe_split,
// unsafe_split_with_sizes, unsafe_chunk, and copies of the parts.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names; the parts share x's storage.

inline std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) { return x.chunk(chunks, dim); }
inline std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0) { return x.split(size, dim); }
inline std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) { return x.split(sizes, dim); }
inline std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0) {
  return x.split(sizes, dim);
}
inline std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0) { return x.unbind(dim); }
/// Into `sections` parts of nearly one size, the first of them one longer, or before each of the indices, which need
/// not be in range.
inline std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0) {
  return x.tensor_split(sections, dim);
}
inline std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim = 0) {
  return x.tensor_split(indices, dim);
}
/// tensor_split along dimension 1 (of one dimension: 0), 0 and 2. @throws Error unless `sections` divides the size
inline std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) { return x.hsplit(sections); }
inline std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices) { return x.hsplit(indices); }
inline std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) { return x.vsplit(sections); }
inline std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices) { return x.vsplit(indices); }
inline std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) { return x.dsplit(sections); }
inline std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices) { return x.dsplit(indices); }
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

}  // namespace tandem
