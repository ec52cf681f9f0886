// Transposition of blocks in registers. Only files of loops/ include this header.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class T, int kBytes> struct BlockVector {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};
/// Interleaves the first halves of a and b or, if kHigh, their last halves, element by element.
template <bool kHigh, class V, int kCount> TANDEM_HD V interleave(V a, V b) {
  constexpr int n = kCount, h = kHigh ? kCount / 2 : 0;
  if constexpr (kCount == 2)
    return __builtin_shufflevector(a, b, h, n + h);
  else if constexpr (kCount == 4)
    return __builtin_shufflevector(a, b, h, n + h, h + 1, n + h + 1);
  else if constexpr (kCount == 8)
    return __builtin_shufflevector(a, b, h, n + h, h + 1, n + h + 1, h + 2, n + h + 2, h + 3, n + h + 3);
  else
    return __builtin_shufflevector(a, b, h, n + h, h + 1, n + h + 1, h + 2, n + h + 2, h + 3, n + h + 3, h + 4,
                                   n + h + 4, h + 5, n + h + 5, h + 6, n + h + 6, h + 7, n + h + 7);
}
/// Computes to[c][r] = from[r][c] for a square block whose rows are vectors of kBytes; from_row and to_row are row
/// strides in elements. Each round interleaves row i with row i + kEdge / 2.
template <class T, int kBytes> TANDEM_HD void transpose_block(const T* from, int64_t from_row, T* to, int64_t to_row) {
  using V = typename BlockVector<T, kBytes>::type;
  constexpr int kEdge = kBytes / int(sizeof(T));
  V x[kEdge], y[kEdge];
#pragma GCC unroll 16
  for (int r = 0; r < kEdge; ++r) x[r] = *reinterpret_cast<const V*>(from + r * from_row);
#pragma GCC unroll 4
  for (int round = 1; round < kEdge; round *= 2) {
#pragma GCC unroll 8
    for (int r = 0; r < kEdge / 2; ++r) {
      y[2 * r] = interleave<false, V, kEdge>(x[r], x[r + kEdge / 2]);
      y[2 * r + 1] = interleave<true, V, kEdge>(x[r], x[r + kEdge / 2]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kEdge; ++r) x[r] = y[r];
  }
#pragma GCC unroll 16
  for (int r = 0; r < kEdge; ++r) *reinterpret_cast<V*>(to + r * to_row) = x[r];
}

/// Computes to[c][r] = from[r][c] for r < rows and c < columns; from_row and to_row are row strides in elements.
template <class T, int kBytes = 16>
TANDEM_NOINLINE void transpose(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows, int64_t columns) {
  constexpr int64_t kEdge = kBytes / int64_t(sizeof(T));
  int64_t r = 0;
  for (; r + kEdge <= rows; r += kEdge) {
    int64_t c = 0;
    for (; c + kEdge <= columns; c += kEdge)
      transpose_block<T, kBytes>(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
    if constexpr (kBytes > 16) {
      transpose(from + r * from_row + c, from_row, to + c * to_row + r, to_row, kEdge, columns - c);
    } else {
      for (; c < columns; ++c)
        for (int64_t i = r; i < r + kEdge; ++i) to[c * to_row + i] = from[i * from_row + c];
    }
  }
  if constexpr (kBytes > 16) {
    if (r < rows) transpose(from + r * from_row, from_row, to + r, to_row, rows - r, columns);
  } else {
    for (; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        TANDEM_NO_VECTORIZE
        to[c * to_row + r] = from[r * from_row + c];
      }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
