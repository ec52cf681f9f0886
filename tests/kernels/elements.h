// Reads and compares elements of dense CPU tensors, for tests of kernels.
#pragma once
#include <cstring>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::test {

/// Returns element i of a tensor as a double.
inline double at(const Tensor& t, int64_t i) {
  return visit_dtype(t.dtype(), [&]<class T>() { return static_cast<double>(t.data<T>()[i]); });
}
inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.nbytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.nbytes())) == 0;
}

/// Returns whether the bits are equal, except for the bits of NaNs: a GPU rounds NaN to its own half-type NaN.
inline bool same_but_nan(const Tensor& a, const Tensor& b) {
  const Tensor nan = a.isnan();
  return nan.equal(b.isnan()) && same_bits(a.masked_fill(nan, 0), b.masked_fill(nan, 0));
}

/// Returns half a unit in the last place of 1, which is the largest relative error of one rounding.
inline double unit_of(DType dtype) {
  return dtype == kFloat16 ? 0x1p-11 : dtype == kBFloat16 ? 0x1p-8 : dtype == kFloat32 ? 6e-8 : 1.2e-16;
}

}  // namespace tandem::test
