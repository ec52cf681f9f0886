// Helpers for the loops of matrix products: vectors, and a tile of c that stays in registers.
#pragma once
#include "tandem/kernels/cpu/loops/elements.h"
#include "tandem/kernels/cpu/loops/lanes.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
// Forces gcc to keep a vector in a register, rather than load it from memory for each use. If rows are not aligned,
// half of the loads cross a cache line.
#if defined(__x86_64__)
#define TANDEM_IN_REGISTER(v) __asm__("" : "+v"(v))
#else
#define TANDEM_IN_REGISTER(v) (void)0
#endif
template <class T> struct VectorOf;
template <> struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
};
template <> struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
};
template <class T> using Vector = typename VectorOf<T>::type;
template <class T> constexpr int64_t kVectorWidth = kVectorBytes / int64_t(sizeof(T));

/// Rows of b that tiles multiply, packed or in place, and the rows that the next tiles read. Each tile prefetches a
/// line or two of each next row, so that memory never receives many requests at once.
template <class T> struct Panel {
  const T* rows;
  int64_t row;  // elements between rows
  const char* next;
  int64_t next_row;  // bytes between rows
};
constexpr int kPrefetchLines = kVectorBytes == 64 ? 2 : 1;
// Maximum number of rows of b for which a tile prefetches its part of c even if it only writes c: such a tile is so
// short that it would wait for these cache lines.
constexpr int64_t kMaxPrefetchDepth = 64;

/// Computes a tile of c (Rows rows, Columns vectors) as rows of a times a panel of b, or adds this product to the tile
/// if `add`. The rows of a are `row` elements apart. Prefetches `Lines` cache lines of each next row of b into the
/// cache of level 4 - `Nearness`.
template <class T, int Rows, int Columns, int Lines = kPrefetchLines, int Nearness = 3>
TANDEM_NOINLINE void tile(const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc, bool add) {
  using V = Vector<T>;
  V sum[Rows][Columns] = {};
  const T* const rows = b.rows;
  const char* const next = b.next;
  const int64_t b_row = b.row, next_row = b.next_row;
  if (add || depth <= kMaxPrefetchDepth)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j) __builtin_prefetch(c + r * ldc + j * kVectorWidth<T>);
    }
  for (int64_t p = 0; p < depth; ++p) {
#pragma GCC unroll 8
    for (int line = 0; line < Lines; ++line) __builtin_prefetch(next + p * next_row + line * 64, 0, Nearness);
    V right[Columns];
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      right[j] = reinterpret_cast<const V*>(rows + p * b_row)[j];
      TANDEM_IN_REGISTER(right[j]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j) sum[r][j] += a[r * row + p] * right[j];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    V* const to = reinterpret_cast<V*>(c + r * ldc);
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) to[j] = add ? to[j] + sum[r][j] : sum[r][j];
  }
}
/// Copies (or adds, if `add`) the elements of a tile that lie inside c, if the tile reaches over an edge of c.
template <class C>
TANDEM_NOINLINE void store_partial_tile(const C* rest, int64_t held, int64_t rows, int64_t columns, C* to, int64_t ldc,
                                        bool add) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t q = 0; q < columns; ++q)
      to[r * ldc + q] = add ? to[r * ldc + q] + rest[r * held + q] : rest[r * held + q];
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
