// What loops over whole rows share: sums in a fixed order, and columns side by side.
#pragma once
#include "tandem/kernels/cpu/loops/elements.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int kLanes = 16;

/// Sums in 16 lanes, which are folded in pairs: an order that depends on their number alone.
template <class T> struct Lanes {
  T lane[kLanes];
  void clear() {
    for (T& each : lane) each = T(0);
  }
  /// f(i) for i < n. What is added after it must not find a lane left out: n is a multiple of 16 then.
  template <class F> void add(int64_t n, F f) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
    for (int k = 0; i < n; ++i, ++k) lane[k] += f(i);
  }
  T fold() {
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
    return lane[0];
  }
};
template <class T, class F> T lane_sum(int64_t n, F f) {
  Lanes<T> lanes = {};
  lanes.add(n, f);
  return lanes.fold();
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
