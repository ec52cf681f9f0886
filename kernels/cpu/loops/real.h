// What loops over whole rows share: typed access to contiguous operands, and rows of float32 and float64 bodies.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Operand k as contiguous elements; null where the tensor was undefined.
template <class T> T* data(const Loop& loop, int k) {
  const Operand& o = loop.operands[k];
  return o.buffer ? reinterpret_cast<T*>(o.buffer->data + o.offset) : nullptr;
}
constexpr int kLanes = 16;

/// sum of f(i) for i < n in 16 lanes, then the lanes in pairs: an order that depends on n alone.
template <class T, class F> T lane_sum(int64_t n, F f) {
  T lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
  for (int k = 0; i < n; ++i, ++k) lane[k] += f(i);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  return lane[0];
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_REAL_ROW(op, body) TANDEM_ROW(op, body<float>, body<double>)
