// Matrix products in which a has few rows, for one thread. The larger operand, b, is read once, in memory order.
#include "tandem/kernels/cpu/loops/gemm_tile.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct Plus {
  template <class V> TANDEM_HD static V combine(V a, V b) { return a + b; }
};
/// Returns a vector with the last n elements of a row of k elements, padded with zeros; n is smaller than a vector. The
/// elements are at the end of the vector if the row is at least as long as a vector, otherwise at its start.
template <class T> Vector<T> last_elements(const T* row, int64_t k, int64_t n) {
  T padded[kVectorWidth<T>] = {};
  if (k < kVectorWidth<T>) {
    for (int64_t q = 0; q < n; ++q) {
      TANDEM_NO_VECTORIZE
      padded[q] = row[q];
    }
    return *reinterpret_cast<const Vector<T>*>(padded);
  }
  for (int64_t q = 0; q < kVectorWidth<T>; ++q) padded[q] = T(q);
  const Vector<T> lanes = *reinterpret_cast<const Vector<T>*>(padded), none = {};
  return lanes >= T(kVectorWidth<T> - n) ? *reinterpret_cast<const Vector<T>*>(row + k - kVectorWidth<T>) : none;
}
/// Computes the dot products of M rows of a and N rows of b, along k, and writes them to c or, if `add`, adds them to
/// c. The order of each sum is the same for any M and N.
template <class T, int M, int N>
TANDEM_NOINLINE void dot_rows(const T* a, int64_t lda, const T* b, int64_t ldb, int64_t k, T* c, int64_t ldc,
                              bool add) {
  using V = Vector<T>;
  V sum[M][N] = {};
  const auto add_products = [&](const auto& load) __attribute__((always_inline)) {
    V left[M];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      left[i] = load(a + i * lda);
      TANDEM_IN_REGISTER(left[i]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      V right = load(b + j * ldb);
      TANDEM_IN_REGISTER(right);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) sum[i][j] += left[i] * right;
    }
  };
  int64_t p = 0;
  for (; p + kVectorWidth<T> <= k; p += kVectorWidth<T>)
    add_products([p](const T* row) { return *reinterpret_cast<const V*>(row + p); });
  if (p < k) add_products([k, n = k - p](const T* row) { return last_elements(row, k, n); });
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      T& to = c[i * ldc + j];
      const T total = reduce_vector<Plus, T, kVectorBytes>(LaneVector<T, kVectorBytes>(sum[i][j]));
      to = add ? to + total : total;
    }
}
template <class T, int N>
void dot_columns(int64_t m, const T* a, int64_t lda, const T* b, int64_t ldb, int64_t k, T* c, int64_t ldc, bool add) {
  constexpr int kMaxRows = kVectorBytes == 64 ? 4 : 2;  // maximum number of rows of a whose sums fit into registers
  for (int64_t i = 0, parts = (m + kMaxRows - 1) / kMaxRows; parts > 0; --parts) {
    const int64_t left = (m - i + parts - 1) / parts;
    const auto sums = left == 1   ? dot_rows<T, 1, N>
                      : left == 2 ? dot_rows<T, 2, N>
                      : left == 3 ? dot_rows<T, 3, N>
                                  : dot_rows<T, 4, N>;
    sums(a + i * lda, lda, b, ldb, k, c + i * ldc, ldc, add);
    i += left;
  }
}
/// Computes c (m, n) = a b^T, or c += a b^T, for an a with few rows, and for rows [begin, end) of b, which give columns
/// [begin, end) of c. Reads a and b in place, and b only once. Operands: c, a, b. Scalars: m, k, row strides of a, b
/// and c, and whether to add to c.
template <class T> void gemm_small_m_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t m = number(0), k = number(1), lda = number(2), ldb = number(3), ldc = number(4);
  const bool add = number(5);
  const T *const a = data<T>(loop, 1), *const b = data<T>(loop, 2);
  T* const c = data<T>(loop, 0);
  int64_t j = begin;
  if constexpr (kVectorBytes == 64)
    for (; j + 8 <= end; j += 8) dot_columns<T, 8>(m, a, lda, b + j * ldb, ldb, k, c + j, ldc, add);
  for (; j + 4 <= end; j += 4) dot_columns<T, 4>(m, a, lda, b + j * ldb, ldb, k, c + j, ldc, add);
  for (; j < end; ++j) dot_columns<T, 1>(m, a, lda, b + j * ldb, ldb, k, c + j, ldc, add);
}

// The following functions multiply an a that has fewer rows than two tiles by a row-major b. They read b once, in
// memory order: a few rows at a time, over all columns. The rows of a are divided evenly into tiles.
// kTileVectorsByRows[r - 1] is the width, in vectors, of a tile with r rows; tiles with fewer rows are wider.
#if defined(__AVX512F__)
constexpr int kTileVectorsByRows[] = {6, 6, 6, 6, 5, 4, 3, 3};
#else
constexpr int kTileVectorsByRows[] = {6, 4, 3, 3, 2, 2};
#endif
constexpr int kMaxTileRows = sizeof(kTileVectorsByRows) / sizeof(int);
// Number of rows of b that are multiplied at a time: kDepthBlock, or half as many if a has fewer than kMinRowsFullDepth
// rows.
constexpr int64_t kDepthBlock = 64, kMinRowsFullDepth = 4;

/// Computes a tile of c (Rows rows, Columns vectors), except for the first `done` columns, which are already computed.
/// Prefetches the next panel into the L2 cache, because in the L1 cache lines that are a multiple of 4 KiB apart would
/// evict each other.
template <class T, int Rows, int Columns>
void small_m_tile(const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc, bool add,
                  int64_t done) {
  constexpr int kLines = (Columns * kVectorBytes + 63) / 64;
  constexpr int64_t kHeld = Columns * kVectorWidth<T>;
  if (done == 0) return tile<T, Rows, Columns, kLines, 2>(a, row, b, depth, c, ldc, add);
  T rest[Rows * kHeld];
  tile<T, Rows, Columns, kLines, 2>(a, row, b, depth, rest, kHeld, false);
  store_partial_tile(rest + done, kHeld, Rows, kHeld - done, c + done, ldc, add);
}
/// Computes c (Rows, n) = a (Rows, depth) b, or adds to c if `add`, for `depth` rows of b. `next` points to the rows of
/// b that are read afterwards, and are prefetched.
template <class T, int Rows>
void multiply_rows_of_b(const T* a, int64_t row, const T* b, int64_t ldb, int64_t depth, int64_t n, const T* next, T* c,
                        int64_t ldc, bool add) {
  constexpr int kWide = kTileVectorsByRows[Rows - 1];
  for (int64_t j = 0, width; j < n; j += width) {
    const int64_t vectors = (n - j + kVectorWidth<T> - 1) / kVectorWidth<T>, columns = vectors >= kWide ? kWide
                                                                                       : vectors >= 2   ? 2
                                                                                                        : 1;
    width = columns * kVectorWidth<T>;
    const bool last = j + width >= n;
    const int64_t at = j + width <= n ? j : n - width;  // the last tile overlaps the previous tile
    const Panel<T> panel{b + at, ldb, reinterpret_cast<const char*>(last ? next : b + at + width),
                         last && next == b ? 0 : ldb * int64_t(sizeof(T))};
    const auto tile = columns == 1   ? small_m_tile<T, Rows, 1>
                      : columns == 2 ? small_m_tile<T, Rows, 2>
                                     : small_m_tile<T, Rows, kWide>;
    tile(a, row, panel, depth, c + at, ldc, add, j - at);
  }
}
template <class T> auto multiply_rows_of_b(int64_t rows) {
  switch (rows) {
    case 1: return multiply_rows_of_b<T, 1>;
    case 2: return multiply_rows_of_b<T, 2>;
    case 3: return multiply_rows_of_b<T, 3>;
    case 4: return multiply_rows_of_b<T, 4>;
    case 5: return multiply_rows_of_b<T, 5>;
#if defined(__AVX512F__)
    case 6: return multiply_rows_of_b<T, 6>;
    case 7: return multiply_rows_of_b<T, 7>;
#endif
    default: return multiply_rows_of_b<T, kMaxTileRows>;
  }
}
/// Computes c (m, n) = a b, or c += a b, for at most 16 rows of a, and at least as many columns as a tile has. [begin,
/// end) are the rows of c. Operands: c, a, b. Scalars: n, k, row and column strides of a, row strides of b and of c,
/// and whether to add to c.
template <class T> void gemm_small_m_row_major_b_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t m = end - begin, n = number(0), k = number(1), a_row = number(2), a_column = number(3), ldb = number(4),
                ldc = number(5), rows_at_once = m < kMinRowsFullDepth ? kDepthBlock / 2 : kDepthBlock;
  const T *const a = data<T>(loop, 1) + begin * a_row, *b = data<T>(loop, 2);
  T* const c = data<T>(loop, 0) + begin * ldc;
  T transposed[16 * kDepthBlock];
  for (int64_t p = 0; p < k; p += rows_at_once, b += rows_at_once * ldb) {
    const int64_t depth = k - p < rows_at_once ? k - p : rows_at_once;
    const T* left = a + p;
    if (a_column != 1) {
      left = transposed;
      for (int64_t q = 0; q < depth; ++q)
        for (int64_t i = 0; i < m; ++i) {
          TANDEM_NO_VECTORIZE
          transposed[i * depth + q] = a[i * a_row + (p + q) * a_column];
        }
    }
    const int64_t row = a_column == 1 ? a_row : depth;
    const T* const next = p + 2 * rows_at_once <= k ? b + rows_at_once * ldb : b;
    for (int64_t i = 0, parts = (m + kMaxTileRows - 1) / kMaxTileRows; parts > 0; --parts) {
      const int64_t rows = (m - i + parts - 1) / parts;
      multiply_rows_of_b<T>(rows)(left + i * row, row, b, ldb, depth, n, parts > 1 ? b : next, c + i * ldc, ldc,
                                  number(6) || p > 0);
      i += rows;
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_DISPATCH_TABLE(gemm_small_m, gemm_small_m_body<float>)
TANDEM_DISPATCH_TABLE(gemm_small_m_row_major_b, gemm_small_m_row_major_b_body<float>)
