// Elements of dense CPU tensors, for tests of kernels.
#pragma once
#include <cstring>

#include "tandem/core/tensor.h"

namespace tandem::test {

/// Element i of a tensor of float32 or float64.
inline double at(const Tensor& t, int64_t i) {
  return t.dtype() == kFloat32 ? static_cast<double>(t.data<float>()[i]) : t.data<double>()[i];
}
inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.nbytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.nbytes())) == 0;
}

}  // namespace tandem::test
