// Our own matrix product, for one thread: a tile of c stays in registers, to which the innermost loop adds elements of
// rows of a times a panel of b. Panels of b are packed, so that they are read in order; rows of a are read where they
// lie, unless neighbours in a row are apart. It runs where there is no library, for products that it does faster, and
// for half types: those are packed as floats, and a block of c is summed up in float before it is rounded.
#include "tandem/kernels/cpu/loops/elements.h"
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/transpose.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

// A tile is kRows x kColumns vectors; with a row of b and one broadcast element it fills the registers there are.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kRows = 8, kColumns = 3;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32, kRows = 4, kColumns = 3;
#else
constexpr int kVectorBytes = 16, kRows = 4, kColumns = 2;
#endif
// Keeps gcc from reading a vector from memory again for each of its uses: of rows that are not aligned, half of the
// reads cross a line of the cache.
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
template <class T> constexpr int64_t kLane = kVectorBytes / int64_t(sizeof(T));
template <class T> constexpr int64_t kWidth = kColumns* kLane<T>;  // columns of a tile

// Blocks: a panel of b is packed and stays in the first cache while the rows of a go by, a block of a in the second.
// The sum along k runs in order, in blocks of kDepth: no element of c depends on how rows and columns are cut.
constexpr int64_t kDepth = 256, kBlockRows = 512;
// Up to this many rows of a, tiles read rows of b where they lie: packing a panel would take longer than it saves.
constexpr int64_t kFewRows = kVectorBytes == 64 ? 192 : 64;
// What is summed up of c before it is rounded to a half type, or written as its transpose.
constexpr int64_t kHalfRows = 128, kColumnsHeld = 480;

/// Rows of b that tiles multiply, packed or where they lie in b, and the rows that the next tiles will read: each tile
/// fetches a line or two of each, so that memory is never asked for many at once.
template <class T> struct Panel {
  const T* rows;
  int64_t row;  // elements from one to the next
  const char* next;
  int64_t next_row;  // bytes
};
constexpr int kLinesAhead = kVectorBytes == 64 ? 2 : 1;
// Tiles of so few rows of b wait for c's lines, even if c is written only: they are fetched first.
constexpr int64_t kShallow = 64;

/// A tile of c (Rows rows, Columns vectors) = or += rows of a, which are `row` apart, times a panel of b.
/// `Lines` of each next row are fetched into the cache of number 4 - `Nearness`.
template <class T, int Rows, int Columns, int Lines = kLinesAhead, int Nearness = 3>
TANDEM_ONE_COPY void tile(const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc, bool add) {
  using V = Vector<T>;
  V sum[Rows][Columns] = {};
  const T* const rows = b.rows;
  const char* const next = b.next;
  const int64_t b_row = b.row, next_row = b.next_row;
  if (add || depth <= kShallow)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j) __builtin_prefetch(c + r * ldc + j * kLane<T>);
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
/// Rows of the tile that does for `rows` rows: few are left at the edges.
inline int rows_of_tile(int64_t rows) {
  return rows > kRows / 2 ? kRows : rows > kRows / 4 ? kRows / 2 : rows > 1 ? kRows / 4 : 1;
}
template <class T, int Columns>
void tile_of_rows(int64_t rows, const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc,
                  bool add) {
  switch (rows_of_tile(rows)) {
    case kRows: return tile<T, kRows, Columns>(a, row, b, depth, c, ldc, add);
    case kRows / 2: return tile<T, kRows / 2, Columns>(a, row, b, depth, c, ldc, add);
#if defined(__AVX512F__)
    case kRows / 4: return tile<T, kRows / 4, Columns>(a, row, b, depth, c, ldc, add);
#endif
    default: return tile<T, 1, Columns>(a, row, b, depth, c, ldc, add);
  }
}
template <class T>
void any_tile(int64_t rows, int64_t width, const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc,
              bool add) {
  if (width == kWidth<T>)
    tile_of_rows<T, kColumns>(rows, a, row, b, depth, c, ldc, add);
  else if (width == kLane<T>)
    tile_of_rows<T, 1>(rows, a, row, b, depth, c, ldc, add);
  else
    tile_of_rows<T, 2>(rows, a, row, b, depth, c, ldc, add);
}

/// A matrix by the distance of its rows and of its columns, in elements.
template <class C> struct Matrix {
  Elements<C> elements;
  int64_t row, column;
};
/// `count` lines of `depth` elements, of which those of one place stand side by side in the copy, `width` apart.
template <class C>
void pack_lines(const C* from, int64_t line, int64_t step, int64_t count, int64_t depth, int64_t width, C* to) {
  if (line == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      TANDEM_IVDEP
      for (int64_t i = 0; i < count; ++i) to[p * width + i] = from[p * step + i];
    }
  } else if (step == 1) {
    transpose<C, kVectorBytes>(from, line, to, width, count, depth);
  } else {
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = 0; i < count; ++i) to[p * width + i] = from[i * line + p * step];
  }
}
/// The same of a half type, depth <= kBlockRows.
template <class C>
void widen_lines(const Elements<C>& from, int64_t at, int64_t line, int64_t step, int64_t count, int64_t depth,
                 int64_t width, C* to) {
  C room[kBlockRows];
  for (int64_t p = 0; line == 1 && p < depth; ++p) from.read(at + p * step, count, to + p * width);
  for (int64_t i = 0; line != 1 && i < count; ++i) {
    if (step == 1) from.read(at + i * line, depth, room);
    for (int64_t p = 0; p < depth; ++p) to[p * width + i] = step == 1 ? room[p] : from.get(at + i * line + p * step);
  }
}
template <class C>
TANDEM_ONE_COPY void pack(const Elements<C>& from, int64_t at, int64_t line, int64_t step, int64_t count, int64_t depth,
                          int64_t width, C* to) {
  if (from.is_half())
    widen_lines(from, at, line, step, count, depth, width, to);
  else
    pack_lines<C>(from.place(at, nullptr), line, step, count, depth, width, to);
}

/// Fetches a panel of b bit by bit, while tiles of the one before are worked on.
class Ahead {
 public:
  /// The panel's element (p, j) lies at from[p * row + j * column].
  template <class C>
  Ahead(const C* from, int64_t row, int64_t column, int64_t depth, int64_t across, int64_t tiles)
      : at_(reinterpret_cast<const char*>(from)),
        apart_((row == 1 ? column : row) * int64_t(sizeof(C))),
        bytes_((row == 1 ? depth : across) * int64_t(sizeof(C))),
        lines_(row == 1 ? across : depth),
        each_((lines_ + tiles - 1) / tiles) {}
  /// What is due before one of the tiles.
  void fetch() {
    for (int64_t i = 0; i < each_ && lines_ > 0; ++i, --lines_, at_ += apart_)
      for (int64_t byte = 0; byte < bytes_; byte += 64) __builtin_prefetch(at_ + byte);
  }

 private:
  const char* at_;
  int64_t apart_, bytes_, lines_, each_;
};

/// What counts of a tile at an edge.
template <class C>
TANDEM_ONE_COPY void put_rest(const C* rest, int64_t held, int64_t rows, int64_t columns, C* to, int64_t ldc,
                              bool add) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t q = 0; q < columns; ++q)
      to[r * ldc + q] = add ? to[r * ldc + q] + rest[r * held + q] : rest[r * held + q];
}

/// Columns [jc, jc + nc) of rows [begin, end): c, which is the first of them, = or += a b.
template <class C>
TANDEM_ONE_COPY void multiply(const Matrix<C>& a, const Matrix<C>& b, int64_t begin, int64_t end, int64_t jc,
                              int64_t nc, int64_t k, C* c, int64_t ldc, bool accumulate, C* room) {
  constexpr int64_t width = kWidth<C>;
  C *const packed_a = room, *const packed_b = room + kBlockRows * kDepth;
  C rest[kRows * width];
  const auto place_a = [&](int64_t row, int64_t pc) { return row * a.row + pc * a.column; };
  const auto place_b = [&](int64_t pc, int64_t j) { return pc * b.row + (jc + j) * b.column; };
  for (int64_t ic = begin; ic < end; ic += kBlockRows) {
    const int64_t mc = end - ic < kBlockRows ? end - ic : kBlockRows;
    // Rows from here on are packed: of the last tile at least, which may have fewer than it reads.
    const int64_t packed = a.elements.is_half() || a.column != 1 ? 0 : mc / kRows * kRows;
    const bool few = !b.elements.is_half() && b.column == 1 && mc <= kFewRows;
    for (int64_t pc = 0; pc < k; pc += kDepth) {
      const int64_t depth = k - pc < kDepth ? k - pc : kDepth;
      const bool add = accumulate || pc > 0;
      pack(a.elements, place_a(ic + packed, pc), a.column, a.row, depth, mc - packed, depth, packed_a);
      for (int64_t i = (mc - packed) * depth; i % (kRows * depth) != 0; ++i) {
        TANDEM_ONE_BY_ONE
        packed_a[i] = C(0);
      }
      for (int64_t j = 0; j < nc; j += width) {
        const int64_t across = nc - j < width ? nc - j : width, held = (across + kLane<C> - 1) / kLane<C> * kLane<C>;
        const bool in_place = few && across == held;
        if (!in_place) pack(b.elements, place_b(pc, j), b.column, b.row, across, depth, held, packed_b);
        for (int64_t p = 0; across < held && p < depth; ++p)
          for (int64_t q = across; q < held; ++q) {
            TANDEM_ONE_BY_ONE
            packed_b[p * held + q] = C(0);
          }
        const C* const panel = in_place ? b.elements.place(place_b(pc, j), nullptr) : packed_b;
        const bool last = j + width >= nc;
        const int64_t np = last ? pc + depth : pc, nj = last ? 0 : j + width;
        const int64_t nd = b.elements.is_half() || np >= k ? 0 : k - np < kDepth ? k - np : kDepth;
        const C* const next = b.elements.place(place_b(np, nj), packed_b);
        Ahead ahead(next, b.row, b.column, nd, nc - nj < width ? nc - nj : width, (mc + kRows - 1) / kRows);
        for (int64_t i = 0; i < mc; i += kRows) {
          if (!in_place) ahead.fetch();
          const bool spread = in_place && nd > 0;
          const Panel<C> right{panel, in_place ? b.row : held,
                               reinterpret_cast<const char*>(spread ? next : panel) + i / kRows % 2 * kLinesAhead * 64,
                               spread ? b.row * int64_t(sizeof(C)) : 0};
          const int64_t down = mc - i < kRows ? mc - i : int64_t(kRows), row = i < packed ? a.row : depth;
          const C* const left =
              i < packed ? a.elements.place(place_a(ic + i, pc), nullptr) : packed_a + (i - packed) * depth;
          C* const to = c + (ic - begin + i) * ldc + j;
          if (down == rows_of_tile(down) && across == held) {
            any_tile(down, held, left, row, right, depth, to, ldc, add);
            continue;
          }
          any_tile(down, held, left, row, right, depth, rest, held, false);
          put_rest(rest, held, down, across, to, ldc, add);
        }
      }
    }
  }
}

struct Plus {
  template <class V> TANDEM_HD static V join(V a, V b) { return a + b; }
};
/// The last n elements of a row of k, fewer than a vector has, and zeros. They lie at the vector's end if the row is
/// long enough to be read there.
template <class T> Vector<T> last_elements(const T* row, int64_t k, int64_t n) {
  T padded[kLane<T>] = {};
  if (k < kLane<T>) {
    for (int64_t q = 0; q < n; ++q) {
      TANDEM_ONE_BY_ONE
      padded[q] = row[q];
    }
    return *reinterpret_cast<const Vector<T>*>(padded);
  }
  for (int64_t q = 0; q < kLane<T>; ++q) padded[q] = T(q);
  const Vector<T> lanes = *reinterpret_cast<const Vector<T>*>(padded), none = {};
  return lanes >= T(kLane<T> - n) ? *reinterpret_cast<const Vector<T>*>(row + k - kLane<T>) : none;
}
/// Sums of products of M rows of a with N rows of b, along k: each c[m][n] = or +=, in the same order for any M and N.
template <class T, int M, int N>
TANDEM_ONE_COPY void sums_of_rows(const T* a, int64_t lda, const T* b, int64_t ldb, int64_t k, T* c, int64_t ldc,
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
  for (; p + kLane<T> <= k; p += kLane<T>)
    add_products([p](const T* row) { return *reinterpret_cast<const V*>(row + p); });
  if (p < k) add_products([k, n = k - p](const T* row) { return last_elements(row, k, n); });
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      T& to = c[i * ldc + j];
      const T total = fold_vector<Plus, T, kVectorBytes>(LaneVector<T, kVectorBytes>(sum[i][j]));
      to = add ? to + total : total;
    }
}
template <class T, int N>
void column_of_sums(int64_t m, const T* a, int64_t lda, const T* b, int64_t ldb, int64_t k, T* c, int64_t ldc,
                    bool add) {
  constexpr int kMost = kVectorBytes == 64 ? 4 : 2;  // as many sums as registers hold
  for (int64_t i = 0, parts = (m + kMost - 1) / kMost; parts > 0; --parts) {
    const int64_t left = (m - i + parts - 1) / parts;
    const auto sums = left == 1   ? sums_of_rows<T, 1, N>
                      : left == 2 ? sums_of_rows<T, 2, N>
                      : left == 3 ? sums_of_rows<T, 3, N>
                                  : sums_of_rows<T, 4, N>;
    sums(a + i * lda, lda, b, ldb, k, c + i * ldc, ldc, add);
    i += left;
  }
}
/// c (m, n) = or += a b^T of few rows of a: rows of both are read where they lie, b's once. Operands: c, a, b. Scalars:
/// m, k, the distances of rows of a, b and c, and whether to add to c. The range is b's rows, which are c's columns.
template <class T> void gemm_few_rows_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t m = number(0), k = number(1), lda = number(2), ldb = number(3), ldc = number(4);
  const bool add = number(5);
  const T *const a = data<T>(loop, 1), *const b = data<T>(loop, 2);
  T* const c = data<T>(loop, 0);
  int64_t j = begin;
  if constexpr (kVectorBytes == 64)
    for (; j + 8 <= end; j += 8) column_of_sums<T, 8>(m, a, lda, b + j * ldb, ldb, k, c + j, ldc, add);
  for (; j + 4 <= end; j += 4) column_of_sums<T, 4>(m, a, lda, b + j * ldb, ldb, k, c + j, ldc, add);
  for (; j < end; ++j) column_of_sums<T, 1>(m, a, lda, b + j * ldb, ldb, k, c + j, ldc, add);
}

// Multiplies a few rows of a, fewer than two tiles have, by a row-major b. Reads b once, in memory order: a few rows at
// a time, over all columns. A tile has as many rows as a has; tiles of fewer rows are wider.
#if defined(__AVX512F__)
constexpr int kFewColumns[] = {6, 6, 6, 6, 5, 4, 3, 3};  // vectors of a tile of one row, of two, and so on
#else
constexpr int kFewColumns[] = {6, 4, 3, 3, 2, 2};
#endif
constexpr int kMostFew = sizeof(kFewColumns) / sizeof(int);
constexpr int64_t kFewDepth = 64, kFewest = 4;  // rows of b at a time, half of them for fewer rows of a

/// A tile of c (Rows rows, Columns vectors), without the first `done` columns, which are made already. The next panel
/// is fetched into the second cache: lines that are a multiple of 4 KiB apart would drive each other out of the first.
template <class T, int Rows, int Columns>
void tile_of_few(const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc, bool add, int64_t done) {
  constexpr int kLines = (Columns * kVectorBytes + 63) / 64;
  constexpr int64_t kHeld = Columns * kLane<T>;
  if (done == 0) return tile<T, Rows, Columns, kLines, 2>(a, row, b, depth, c, ldc, add);
  T rest[Rows * kHeld];
  tile<T, Rows, Columns, kLines, 2>(a, row, b, depth, rest, kHeld, false);
  put_rest(rest + done, kHeld, Rows, kHeld - done, c + done, ldc, add);
}
/// c (Rows, n) = or += a (Rows, depth) times rows of b; `next` are the rows of b that will be read afterwards.
template <class T, int Rows>
void times_rows_of_b(const T* a, int64_t row, const T* b, int64_t ldb, int64_t depth, int64_t n, const T* next, T* c,
                     int64_t ldc, bool add) {
  constexpr int kWide = kFewColumns[Rows - 1];
  for (int64_t j = 0, width; j < n; j += width) {
    const int64_t vectors = (n - j + kLane<T> - 1) / kLane<T>, columns = vectors >= kWide ? kWide
                                                                         : vectors >= 2   ? 2
                                                                                          : 1;
    width = columns * kLane<T>;
    const bool last = j + width >= n;
    const int64_t at = j + width <= n ? j : n - width;  // the last tile makes columns of the one before again
    const Panel<T> panel{b + at, ldb, reinterpret_cast<const char*>(last ? next : b + at + width),
                         last && next == b ? 0 : ldb * int64_t(sizeof(T))};
    const auto tile = columns == 1   ? tile_of_few<T, Rows, 1>
                      : columns == 2 ? tile_of_few<T, Rows, 2>
                                     : tile_of_few<T, Rows, kWide>;
    tile(a, row, panel, depth, c + at, ldc, add, j - at);
  }
}
template <class T> auto times_rows_of_b(int64_t rows) {
  switch (rows) {
    case 1: return times_rows_of_b<T, 1>;
    case 2: return times_rows_of_b<T, 2>;
    case 3: return times_rows_of_b<T, 3>;
    case 4: return times_rows_of_b<T, 4>;
    case 5: return times_rows_of_b<T, 5>;
#if defined(__AVX512F__)
    case 6: return times_rows_of_b<T, 6>;
    case 7: return times_rows_of_b<T, 7>;
#endif
    default: return times_rows_of_b<T, kMostFew>;
  }
}
/// c (m, n) = or += a b of at most 16 rows of a, and at least as many columns as a tile has. Operands: c, a, b.
/// Scalars: n, k, the distances of rows and of columns of a, of rows of b and of c, and whether to add to c. The range
/// is c's rows.
template <class T> void gemm_in_order_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t m = end - begin, n = number(0), k = number(1), a_row = number(2), a_column = number(3), ldb = number(4),
                ldc = number(5), rows_at_once = m < kFewest ? kFewDepth / 2 : kFewDepth;
  const T *const a = data<T>(loop, 1) + begin * a_row, *b = data<T>(loop, 2);
  T* const c = data<T>(loop, 0) + begin * ldc;
  T turned[16 * kFewDepth];
  for (int64_t p = 0; p < k; p += rows_at_once, b += rows_at_once * ldb) {
    const int64_t depth = k - p < rows_at_once ? k - p : rows_at_once;
    const T* left = a + p;
    if (a_column != 1) {
      left = turned;
      for (int64_t q = 0; q < depth; ++q)
        for (int64_t i = 0; i < m; ++i) {
          TANDEM_ONE_BY_ONE
          turned[i * depth + q] = a[i * a_row + (p + q) * a_column];
        }
    }
    const int64_t row = a_column == 1 ? a_row : depth;
    const T* const next = p + 2 * rows_at_once <= k ? b + rows_at_once * ldb : b;
    for (int64_t i = 0, parts = (m + kMostFew - 1) / kMostFew; parts > 0; --parts) {
      const int64_t rows = (m - i + parts - 1) / parts;
      times_rows_of_b<T>(rows)(left + i * row, row, b, ldb, depth, n, parts > 1 ? b : next, c + i * ldc, ldc,
                               number(6) || p > 0);
      i += rows;
    }
  }
}

/// Of c's transpose, rows of which are ldc apart, = or += a block of c: `rows` at most kBlockRows, and columns.
template <class C> void put_turned(const C* block, int64_t rows, int64_t columns, C* to, int64_t ldc, bool accumulate) {
  if (!accumulate) return transpose<C, kVectorBytes>(block, columns, to, ldc, rows, columns);
  constexpr int64_t kFew = kLane<C>;  // of which the nearest cache holds a copy
  C turned[kFew * kBlockRows];
  for (int64_t column = 0; column < columns; column += kFew) {
    const int64_t count = columns - column < kFew ? columns - column : kFew;
    transpose<C, kVectorBytes>(block + column, columns, turned, rows, rows, count);
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < rows; ++i) to[(column + j) * ldc + i] += turned[j * rows + i];
  }
}

/// Operands: c, a, b, and room for packing and for a block of c. Scalars: n, k, then the distances of rows and columns
/// of a and of b, the distance of rows of c, whether to add to c, and whether c is written as its transpose, which is
/// done of float alone. The range is c's rows.
template <class C> void gemm_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t n = number(0), k = number(1), ldc = number(6);
  const bool accumulate = number(7);
  [[maybe_unused]] const bool turned = number(8);
  const Elements<C> c(loop, 0);
  const Matrix<C> a{{loop, 1}, number(2), number(3)}, b{{loop, 2}, number(4), number(5)};
  C *const room = data<C>(loop, 3), *const block = room + (kBlockRows + kWidth<C>)*kDepth;
  if constexpr (__is_same(C, float))
    if (turned) {
      for (int64_t jc = 0; jc < n; jc += kColumnsHeld)
        for (int64_t ic = begin; ic < end; ic += kBlockRows) {
          const int64_t mc = end - ic < kBlockRows ? end - ic : kBlockRows,
                        nc = n - jc < kColumnsHeld ? n - jc : kColumnsHeld;
          multiply(a, b, ic, ic + mc, jc, nc, k, block, nc, false, room);
          put_turned(block, mc, nc, c.place(jc * ldc + ic, nullptr), ldc, accumulate);
        }
      return;
    }
  if (!c.is_half()) return multiply(a, b, begin, end, 0, n, k, c.place(begin * ldc, nullptr), ldc, accumulate, room);
  for (int64_t ic = begin; ic < end; ic += kHalfRows) {
    const int64_t mc = end - ic < kHalfRows ? end - ic : kHalfRows;
    for (int64_t jc = 0; jc < n; jc += kColumnsHeld) {
      const int64_t nc = n - jc < kColumnsHeld ? n - jc : kColumnsHeld;
      multiply(a, b, ic, ic + mc, jc, nc, k, block, nc, false, room);
      for (int64_t r = 0; r < mc; ++r) {
        C* const made = block + r * nc;
        if (accumulate) {
          C old[kColumnsHeld];
          c.read((ic + r) * ldc + jc, nc, old);
          for (int64_t q = 0; q < nc; ++q) made[q] += old[q];
        }
        c.write((ic + r) * ldc + jc, nc, made);
      }
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(gemm_rows, gemm_body)
TANDEM_ROW(gemm_few_rows, gemm_few_rows_body<float>)
TANDEM_ROW(gemm_in_order, gemm_in_order_body<float>)
