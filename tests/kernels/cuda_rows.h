// Helpers for tests of CUDA kernels: make tensors of every dtype, and count the elements in which two tensors differ.
#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tandem/tests/core/cuda/gpu.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/kernels/cuda_tensors.h"

namespace tandem::test {

inline const DType kAllDTypes[] = {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64,
                                   kInt32,   kInt16,   kInt8,    kUInt8,    kBool};

/// Returns a CPU tensor whose element i is f(i).
template <class F> Tensor made(IntArrayRef sizes, DType dtype, F f) {
  Tensor x = core::empty(sizes, kFloat64, kCPU);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<double>()[i] = f(i);
  return x.to(dtype);
}
/// Returns integers with many duplicates, whose sums are exact. If `specials`, floating dtypes also get NaN, infinities
/// and
/// both zeros. Unsigned dtypes get no negative numbers.
inline Tensor few_values(IntArrayRef sizes, DType dtype, bool specials = false) {
  const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
  const bool sign = dtype != kUInt8 && dtype != kBool;
  return made(sizes, dtype, [=](int64_t i) {
    const auto k = static_cast<int64_t>(unit(i, 3) * 1e6);
    if (specials && is_floating_point(dtype) && k % 7 == 0) return special[k % 5];
    return static_cast<double>(k % (sign ? 41 : 21) - (sign ? 20 : 0)) * (dtype == kBool ? k % 3 == 0 : 1);
  });
}
inline Tensor reals(IntArrayRef sizes, DType dtype, uint32_t salt, double scale = 2.0, double shift = 0.0) {
  return made(sizes, dtype, [=](int64_t i) { return value(i, salt) * scale + shift; });
}

/// Returns the number of elements that differ by more than the tolerance, or -1 if shapes or dtypes differ. NaN equals
/// NaN.
inline int64_t count_differences(const Tensor& got, const Tensor& want, double relative = 0, double absolute = 0) {
  if (got.sizes() != want.sizes() || got.dtype() != want.dtype()) return -1;
  const Tensor a = got.to(kCPU).to(kFloat64), b = want.to(kFloat64);
  int64_t count = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    count += !(x == y || std::abs(x - y) <= absolute + relative * std::abs(y));
  }
  return count;
}

/// Runs f three times, with the emulated device's threads in another order each time. A GPU keeps its own order.
template <class F> void in_every_order(F f) {
  const char* const before = std::getenv("TANDEM_EMULATION_ORDER");
  const std::string saved = before ? before : "";
  for (const char* order : {"forward", "reverse", "shuffle:7"}) {
    setenv("TANDEM_EMULATION_ORDER", order, 1);
    f();
  }
  before ? setenv("TANDEM_EMULATION_ORDER", saved.c_str(), 1) : unsetenv("TANDEM_EMULATION_ORDER");
}

}  // namespace tandem::test
