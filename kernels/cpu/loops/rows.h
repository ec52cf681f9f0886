// What loops over whole rows share: typed access to contiguous operands, and sums in a fixed order. Elements of half
// types are loaded as floats and computed in them; an element is rounded when it is stored.
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

constexpr int64_t kWidened = 4096;
/// Calls f(x), or of a half type, whose conversion costs more than a pass, f(a copy of floats that may be changed)
/// where n elements find room beside the processor.
template <class T, class F> void widened(const T* x, int64_t n, F f) {
  using C = Upcast<T>;
  if constexpr (!__is_same(T, C)) {
    if (n <= kWidened) {
      C held[kWidened];
      for (int64_t i = 0; i < n; ++i) held[i] = C(x[i]);
      return f(held + 0);
    }
  }
  f(x);
}

constexpr int64_t kColumns = 32;  // that are worked on side by side

/// sums[c] = sum of f(i, c) for i < n, of each in the order of lane_sum.
template <class T, class F> void column_sums(int64_t n, int64_t width, F f, T* sums) {
  T lane[kLanes][kColumns] = {};
  const int64_t used = n < kLanes ? n : kLanes;
  for (int64_t i = 0; i < n; ++i) {
    T* const to = lane[i % kLanes];
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) to[c] += f(i, c);
  }
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half && k + half < used; ++k)
      for (int64_t c = 0; c < width; ++c) lane[k][c] += lane[k + half][c];
  for (int64_t c = 0; c < width; ++c) sums[c] = lane[0][c];
}
/// Columns [begin, end) of the outer * inner ones of (outer, n, inner), in groups that lie beside each other: calls
/// f(offset of the first, how many).
template <class F> void for_columns(int64_t n, int64_t inner, int64_t begin, int64_t end, F f) {
  while (begin < end) {
    const int64_t column = begin % inner, left = inner - column < end - begin ? inner - column : end - begin;
    const int64_t width = left < kColumns ? left : kColumns;
    f(begin / inner * n * inner + column, width);
    begin += width;
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_EACH_FLOATING(op, body) TANDEM_FLOATING_ROW(op, TANDEM_BY_TYPE, body)
