// Our own matrix product, for one thread: panels of a and b are packed so that the innermost loop reads memory in
// order, and a tile of c stays in registers. It runs where there is no library, for products that it does faster, and
// for half types: their panels are packed as floats, and a block of c is summed up in float before it is rounded.
#include "tandem/kernels/cpu/loops/elements.h"

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

// Blocks: a panel of b stays in the first cache while the panels of a go by, the block of a in the second. The sum
// along k runs in order, in blocks of kDepth: no element of c depends on how rows and columns are cut.
constexpr int64_t kDepth = 192, kBlockRows = 128, kBlockColumns = 480;

/// A tile of c (Rows rows, Columns vectors) = or += a panel of a times a panel of b.
template <class T, int Rows, int Columns>
void tile(const T* a, const T* b, int64_t depth, T* c, int64_t ldc, bool add) {
  using V = Vector<T>;
  V sum[Rows][Columns] = {};
  for (int64_t p = 0; p < depth; ++p) {
    V right[Columns];
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) right[j] = reinterpret_cast<const V*>(b + p * Columns * kLane<T>)[j];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < Columns; ++j) sum[r][j] += a[p * kRows + r] * right[j];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    V* const to = reinterpret_cast<V*>(c + r * ldc);
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) to[j] = add ? to[j] + sum[r][j] : sum[r][j];
  }
}
/// Few rows or columns are left at the edges: a tile with fewer does for them.
template <class T, int Columns>
void tile_of_rows(int64_t rows, const T* a, const T* b, int64_t depth, T* c, int64_t ldc, bool add) {
  if (rows > kRows / 2)
    tile<T, kRows, Columns>(a, b, depth, c, ldc, add);
  else if (rows > kRows / 4)
    tile<T, kRows / 2, Columns>(a, b, depth, c, ldc, add);
  else
    tile<T, kRows / 4, Columns>(a, b, depth, c, ldc, add);
}
template <class T>
void any_tile(int64_t rows, int64_t width, const T* a, const T* b, int64_t depth, T* c, int64_t ldc, bool add) {
  if (width == kWidth<T>)
    tile_of_rows<T, kColumns>(rows, a, b, depth, c, ldc, add);
  else if (width == kLane<T>)
    tile_of_rows<T, 1>(rows, a, b, depth, c, ldc, add);
  else
    tile_of_rows<T, 2>(rows, a, b, depth, c, ldc, add);
}

/// A matrix by the distance of its rows and of its columns, in elements.
template <class C> struct Matrix {
  Elements<C> elements;
  int64_t row, column;
};
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
/// to[q][r] = from[r][q] for r, q < 4; both by the distance of their rows.
void transpose_four(const float* from, int64_t from_row, float* to, int64_t to_row) {
  Four x[4];
  for (int r = 0; r < 4; ++r) x[r] = *reinterpret_cast<const Four*>(from + r * from_row);
  const auto low = [](Four p, Four q) { return __builtin_shufflevector(p, q, 0, 4, 1, 5); };
  const auto high = [](Four p, Four q) { return __builtin_shufflevector(p, q, 2, 6, 3, 7); };
  const auto first = [](Four p, Four q) { return __builtin_shufflevector(p, q, 0, 1, 4, 5); };
  const auto second = [](Four p, Four q) { return __builtin_shufflevector(p, q, 2, 3, 6, 7); };
  const Four a = low(x[0], x[1]), b = low(x[2], x[3]), c = high(x[0], x[1]), d = high(x[2], x[3]);
  const Four y[4] = {first(a, b), second(a, b), first(c, d), second(c, d)};
  for (int q = 0; q < 4; ++q) *reinterpret_cast<Four*>(to + q * to_row) = y[q];
}
/// `count` lines that are contiguous in themselves, beside each other. A cache line of each at a time, while the next
/// ones are on their way: they lie too far apart for the processor to guess.
template <class C> void interleave(const C* from, int64_t line, int64_t count, int64_t depth, int64_t width, C* to) {
  constexpr int64_t kRun = 64 / int64_t(sizeof(C));
  for (int64_t begin = 0; begin < depth; begin += kRun) {
    const int64_t end = depth - begin < kRun ? depth : begin + kRun;
    int64_t i = 0;
    if constexpr (__is_same(C, float)) {
      for (; i + 4 <= count; i += 4) {
        for (int64_t r = i; r < i + 4; ++r) __builtin_prefetch(from + r * line + end);
        int64_t p = begin;
        for (; p + 4 <= end; p += 4) transpose_four(from + i * line + p, line, to + p * width + i, width);
        for (; p < end; ++p)
          for (int64_t r = i; r < i + 4; ++r) to[p * width + r] = from[r * line + p];
      }
    }
    for (; i < count; ++i)
      for (int64_t p = begin; p < end; ++p) to[p * width + i] = from[i * line + p];
  }
}
/// A panel of `count` lines, each line element by element beside the others, `width` apart.
template <class C>
void pack_panel(const C* from, int64_t line, int64_t step, int64_t count, int64_t depth, int64_t width, C* to) {
  if (line == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      TANDEM_IVDEP
      for (int64_t i = 0; i < count; ++i) to[p * width + i] = from[p * step + i];
    }
  } else if (step == 1) {
    interleave(from, line, count, depth, width, to);
  } else {
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = 0; i < count; ++i) to[p * width + i] = from[i * line + p * step];
  }
}
/// The same of a half type, depth <= kDepth.
template <class C>
void widen_panel(const Elements<C>& from, int64_t at, int64_t line, int64_t step, int64_t count, int64_t depth,
                 int64_t width, C* to) {
  C room[kDepth];
  for (int64_t p = 0; line == 1 && p < depth; ++p) from.read(at + p * step, count, to + p * width);
  for (int64_t i = 0; line != 1 && i < count; ++i) {
    if (step == 1) from.read(at + i * line, depth, room);
    for (int64_t p = 0; p < depth; ++p) to[p * width + i] = step == 1 ? room[p] : from.get(at + i * line + p * step);
  }
}
/// Panels of `width` lines. What is missing of the last panel's last `unit` lines is zero; if that is all of them, the
/// panel is narrower.
template <class C>
void pack(const Elements<C>& from, int64_t at, int64_t line, int64_t step, int64_t lines, int64_t depth, int64_t width,
          int64_t unit, C* to) {
  for (int64_t first = 0; first < lines; first += width, at += width * line, to += width * depth) {
    const int64_t count = lines - first < width ? lines - first : width;
    width = (count + unit - 1) / unit * unit;
    if (from.is_half())
      widen_panel(from, at, line, step, count, depth, width, to);
    else
      pack_panel<C>(from.read(at, 0, nullptr), line, step, count, depth, width, to);
    if (count < width)
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = count; i < width; ++i) to[p * width + i] = C(0);
  }
}

template <class C> constexpr int64_t kColumnsHeld = kBlockColumns / kWidth<C>* kWidth<C>;  // whole tiles

/// Columns [jc, jc + nc) of rows [begin, end), at most kColumnsHeld: c, which is the first of them, = or += a b.
template <class C>
void multiply(const Matrix<C>& a, const Matrix<C>& b, int64_t begin, int64_t end, int64_t jc, int64_t nc, int64_t k,
              C* c, int64_t ldc, bool accumulate, C* packed_a) {
  constexpr int64_t width = kWidth<C>;
  C* const packed_b = packed_a + kBlockRows * kDepth;
  C rest[kRows * width];
  for (int64_t pc = 0; pc < k; pc += kDepth) {
    const int64_t depth = k - pc < kDepth ? k - pc : kDepth;
    const bool add = accumulate || pc > 0;
    pack(b.elements, pc * b.row + jc * b.column, b.column, b.row, nc, depth, width, kLane<C>, packed_b);
    for (int64_t ic = begin; ic < end; ic += kBlockRows) {
      const int64_t mc = end - ic < kBlockRows ? end - ic : kBlockRows;
      pack(a.elements, ic * a.row + pc * a.column, a.row, a.column, mc, depth, int64_t(kRows), int64_t(kRows),
           packed_a);
      for (int64_t j = 0; j < nc; j += width) {
        const int64_t across = nc - j < width ? nc - j : width, held = (across + kLane<C> - 1) / kLane<C> * kLane<C>;
        for (int64_t i = 0; i < mc; i += kRows) {
          const int64_t down = mc - i < kRows ? mc - i : int64_t(kRows);
          C* const to = c + (ic - begin + i) * ldc + j;
          const C *const left = packed_a + i * depth, *const right = packed_b + j * depth;
          if (down == kRows && across == held) {
            any_tile(down, held, left, right, depth, to, ldc, add);
            continue;
          }
          any_tile(down, held, left, right, depth, rest, held, false);
          for (int64_t r = 0; r < down; ++r)
            for (int64_t q = 0; q < across; ++q)
              to[r * ldc + q] = add ? to[r * ldc + q] + rest[r * held + q] : rest[r * held + q];
        }
      }
    }
  }
}

/// Operands: c, a, b, and room for packing, and for half types for a block of c. Scalars: n, k, then the distances of
/// rows and columns of a and of b, the distance of rows of c, and whether to add to c. The range is c's rows.
template <class C> void gemm_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t n = number(0), k = number(1), ldc = number(6);
  const bool accumulate = number(7);
  const Elements<C> c(loop, 0);
  const Matrix<C> a{{loop, 1}, number(2), number(3)}, b{{loop, 2}, number(4), number(5)};
  C *const room = data<C>(loop, 3), *const block = room + (kBlockRows + kBlockColumns) * kDepth;
  for (int64_t jc = 0; jc < n; jc += kColumnsHeld<C>) {
    const int64_t nc = n - jc < kColumnsHeld<C> ? n - jc : kColumnsHeld<C>;
    if (!c.is_half()) {
      multiply(a, b, begin, end, jc, nc, k, c.place(begin * ldc + jc, nullptr), ldc, accumulate, room);
      continue;
    }
    for (int64_t ic = begin; ic < end; ic += kBlockRows) {
      const int64_t mc = end - ic < kBlockRows ? end - ic : kBlockRows;
      multiply(a, b, ic, ic + mc, jc, nc, k, block, nc, false, room);
      for (int64_t r = 0; r < mc; ++r) {
        C* const made = block + r * nc;
        if (accumulate) {
          C old[kBlockColumns];
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
