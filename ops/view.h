// Views: tensors that share storage. Methods of Tensor do most of it (core/tensor.h); these are the free functions.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Tensor's methods of these names. All but reshape and flatten, which copy where strides do not allow a view, share
/// x's storage.
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
inline std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0) { return x.unbind(dim); }

}  // namespace tandem
