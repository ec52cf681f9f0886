// Tandem's own matrix product, for one thread. A tile of c stays in registers; the innermost loop adds elements of rows
// of a times rows of a panel of b. Panels of b are packed, so that they are read in order; rows of a are read in place
// if they are contiguous. This product is used if there is no library, where it is faster than the library, and for
// half types. Half types are packed as floats, and a block of c is summed in float before it is rounded.
#include "tandem/kernels/cpu/loops/gemm_tile.h"
#include "tandem/kernels/cpu/loops/transpose.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

// Size of a tile of c: kTileRows rows of kTileVectors vectors. Together with a row of b and one broadcast element of a,
// the tile fills the registers.
constexpr int kTileRows = kVectorBytes == 64 ? 8 : 4, kTileVectors = kVectorBytes == 16 ? 2 : 3;
template <class T> constexpr int64_t kTileColumns = kTileVectors* kVectorWidth<T>;  // columns of a tile

// Sizes of blocks. A packed panel of b, kBlockDepth rows high, stays in the L1 cache while all rows of a block of a are
// multiplied by it. A block of a, kBlockRows rows high, stays in the L2 cache. The sum along k is in order, in blocks
// of kBlockDepth, so no element of c depends on how rows and columns are divided.
constexpr int64_t kBlockDepth = 256, kBlockRows = 512;
// Maximum number of rows of a for which tiles read rows of b in place, because packing a panel would take longer than
// it saves.
constexpr int64_t kMaxRowsUnpacked = kVectorBytes == 64 ? 192 : 64;
// Rows and columns of the block of c that is summed before it is rounded to a half type, or written as its transpose.
constexpr int64_t kHalfBlockRows = 128, kBlockColumns = 480;

/// Returns the number of rows of the tile that computes `rows` rows; at the edge of c, fewer than kTileRows rows are
/// left.
inline int num_tile_rows(int64_t rows) {
  return rows > kTileRows / 2 ? kTileRows : rows > kTileRows / 4 ? kTileRows / 2 : rows > 1 ? kTileRows / 4 : 1;
}
template <class T, int Columns>
void dispatch_tile_rows(int64_t rows, const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c, int64_t ldc,
                        bool add) {
  switch (num_tile_rows(rows)) {
    case kTileRows: return tile<T, kTileRows, Columns>(a, row, b, depth, c, ldc, add);
    case kTileRows / 2: return tile<T, kTileRows / 2, Columns>(a, row, b, depth, c, ldc, add);
#if defined(__AVX512F__)
    case kTileRows / 4: return tile<T, kTileRows / 4, Columns>(a, row, b, depth, c, ldc, add);
#endif
    default: return tile<T, 1, Columns>(a, row, b, depth, c, ldc, add);
  }
}
template <class T>
void dispatch_tile(int64_t rows, int64_t width, const T* a, int64_t row, const Panel<T>& b, int64_t depth, T* c,
                   int64_t ldc, bool add) {
  if (width == kTileColumns<T>)
    dispatch_tile_rows<T, kTileVectors>(rows, a, row, b, depth, c, ldc, add);
  else if (width == kVectorWidth<T>)
    dispatch_tile_rows<T, 1>(rows, a, row, b, depth, c, ldc, add);
  else
    dispatch_tile_rows<T, 2>(rows, a, row, b, depth, c, ldc, add);
}

/// A matrix with its row and column strides, in elements.
template <class C> struct Matrix {
  OperandElements<C> elements;
  int64_t row, column;
};
/// Packs `count` lines (rows or columns) of `depth` elements each. Element p of line i is at from[i * line + p * step],
/// and its copy at to[p * width + i].
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
/// Like pack_lines, but converts from a half type. depth is at most kBlockRows.
template <class C>
void widen_lines(const OperandElements<C>& from, int64_t at, int64_t line, int64_t step, int64_t count, int64_t depth,
                 int64_t width, C* to) {
  C scratch[kBlockRows];
  for (int64_t p = 0; line == 1 && p < depth; ++p) from.read(at + p * step, count, to + p * width);
  for (int64_t i = 0; line != 1 && i < count; ++i) {
    if (step == 1) from.read(at + i * line, depth, scratch);
    for (int64_t p = 0; p < depth; ++p) to[p * width + i] = step == 1 ? scratch[p] : from.get(at + i * line + p * step);
  }
}
template <class C>
TANDEM_NOINLINE void pack(const OperandElements<C>& from, int64_t at, int64_t line, int64_t step, int64_t count,
                          int64_t depth, int64_t width, C* to) {
  if (from.is_reduced_floating_point())
    widen_lines(from, at, line, step, count, depth, width, to);
  else
    pack_lines<C>(from.output_buffer(at, nullptr), line, step, count, depth, width, to);
}

/// Prefetches the next panel of b in small portions, while tiles of the current panel are computed.
class Prefetcher {
 public:
  /// Element (p, j) of the next panel lies at from[p * row + j * column].
  template <class C>
  Prefetcher(const C* from, int64_t row, int64_t column, int64_t depth, int64_t across, int64_t tiles)
      : at_(reinterpret_cast<const char*>(from)),
        line_stride_((row == 1 ? column : row) * int64_t(sizeof(C))),
        bytes_((row == 1 ? depth : across) * int64_t(sizeof(C))),
        lines_(row == 1 ? across : depth),
        lines_per_call_((lines_ + tiles - 1) / tiles) {}
  /// Prefetches the next portion of the panel. Call it before each tile.
  void prefetch() {
    for (int64_t i = 0; i < lines_per_call_ && lines_ > 0; ++i, --lines_, at_ += line_stride_)
      for (int64_t byte = 0; byte < bytes_; byte += 64) __builtin_prefetch(at_ + byte);
  }

 private:
  const char* at_;
  int64_t line_stride_, bytes_, lines_, lines_per_call_;
};

/// Computes c = a b, or c += a b if `accumulate`, for rows [begin, end) and columns [jc, jc + nc) of c. The pointer c
/// points to the first of these elements.
template <class C>
TANDEM_NOINLINE void multiply(const Matrix<C>& a, const Matrix<C>& b, int64_t begin, int64_t end, int64_t jc,
                              int64_t nc, int64_t k, C* c, int64_t ldc, bool accumulate, C* scratch) {
  constexpr int64_t width = kTileColumns<C>;
  C *const packed_a = scratch, *const packed_b = scratch + kBlockRows * kBlockDepth;
  C rest[kTileRows * width];
  const auto place_a = [&](int64_t row, int64_t pc) { return row * a.row + pc * a.column; };
  const auto place_b = [&](int64_t pc, int64_t j) { return pc * b.row + (jc + j) * b.column; };
  for (int64_t ic = begin; ic < end; ic += kBlockRows) {
    const int64_t mc = end - ic < kBlockRows ? end - ic : kBlockRows;
    // Index of the first row that is packed: 0, or the first row of an incomplete last tile. An incomplete tile has to
    // be packed, because the kernel reads more rows than the tile has.
    const int64_t packed = a.elements.is_reduced_floating_point() || a.column != 1 ? 0 : mc / kTileRows * kTileRows;
    const bool few = !b.elements.is_reduced_floating_point() && b.column == 1 && mc <= kMaxRowsUnpacked;
    for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
      const int64_t depth = k - pc < kBlockDepth ? k - pc : kBlockDepth;
      const bool add = accumulate || pc > 0;
      pack(a.elements, place_a(ic + packed, pc), a.column, a.row, depth, mc - packed, depth, packed_a);
      for (int64_t i = (mc - packed) * depth; i % (kTileRows * depth) != 0; ++i) {
        TANDEM_NO_VECTORIZE
        packed_a[i] = C(0);
      }
      for (int64_t j = 0; j < nc; j += width) {
        const int64_t across = nc - j < width ? nc - j : width,
                      held = (across + kVectorWidth<C> - 1) / kVectorWidth<C> * kVectorWidth<C>;
        const bool in_place = few && across == held;
        if (!in_place) pack(b.elements, place_b(pc, j), b.column, b.row, across, depth, held, packed_b);
        for (int64_t p = 0; across < held && p < depth; ++p)
          for (int64_t q = across; q < held; ++q) {
            TANDEM_NO_VECTORIZE
            packed_b[p * held + q] = C(0);
          }
        const C* const panel = in_place ? b.elements.output_buffer(place_b(pc, j), nullptr) : packed_b;
        const bool last = j + width >= nc;
        const int64_t np = last ? pc + depth : pc, nj = last ? 0 : j + width;
        const int64_t nd = b.elements.is_reduced_floating_point() || np >= k ? 0
                           : k - np < kBlockDepth                            ? k - np
                                                                             : kBlockDepth;
        const C* const next = b.elements.output_buffer(place_b(np, nj), packed_b);
        Prefetcher prefetcher(next, b.row, b.column, nd, nc - nj < width ? nc - nj : width,
                              (mc + kTileRows - 1) / kTileRows);
        for (int64_t i = 0; i < mc; i += kTileRows) {
          if (!in_place) prefetcher.prefetch();
          const bool spread = in_place && nd > 0;
          const Panel<C> right{
              panel, in_place ? b.row : held,
              reinterpret_cast<const char*>(spread ? next : panel) + i / kTileRows % 2 * kPrefetchLines * 64,
              spread ? b.row * int64_t(sizeof(C)) : 0};
          const int64_t down = mc - i < kTileRows ? mc - i : int64_t(kTileRows), row = i < packed ? a.row : depth;
          const C* const left =
              i < packed ? a.elements.output_buffer(place_a(ic + i, pc), nullptr) : packed_a + (i - packed) * depth;
          C* const to = c + (ic - begin + i) * ldc + j;
          if (down == num_tile_rows(down) && across == held) {
            dispatch_tile(down, held, left, row, right, depth, to, ldc, add);
            continue;
          }
          dispatch_tile(down, held, left, row, right, depth, rest, held, false);
          store_partial_tile(rest, held, down, across, to, ldc, add);
        }
      }
    }
  }
}

/// Writes the transpose of a block of c, with `rows` <= kBlockRows rows, to `to`, whose rows are ldc elements apart. If
/// `accumulate`, adds to the old values.
template <class C>
void store_transposed(const C* block, int64_t rows, int64_t columns, C* to, int64_t ldc, bool accumulate) {
  if (!accumulate) return transpose<C, kVectorBytes>(block, columns, to, ldc, rows, columns);
  // number of columns of the block that are transposed at a time, so that their copy stays in the L1 cache
  constexpr int64_t kFew = kVectorWidth<C>;
  C transposed[kFew * kBlockRows];
  for (int64_t column = 0; column < columns; column += kFew) {
    const int64_t count = columns - column < kFew ? columns - column : kFew;
    transpose<C, kVectorBytes>(block + column, columns, transposed, rows, rows, count);
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < rows; ++i) to[(column + j) * ldc + i] += transposed[j * rows + i];
  }
}

/// Computes rows [begin, end) of a product. Operands: c, a, b, and scratch for packing and for a block of c. Scalars:
/// n, k, row and column strides of a and of b, row stride of c, whether to add to c, and whether to write c as its
/// transpose, which only float supports.
template <class C> void gemm_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t n = number(0), k = number(1), ldc = number(6);
  const bool accumulate = number(7);
  [[maybe_unused]] const bool transposed = number(8);
  const OperandElements<C> c(loop, 0);
  const Matrix<C> a{{loop, 1}, number(2), number(3)}, b{{loop, 2}, number(4), number(5)};
  C *const scratch = data<C>(loop, 3), *const block = scratch + (kBlockRows + kTileColumns<C>)*kBlockDepth;
  if constexpr (__is_same(C, float))
    if (transposed) {
      for (int64_t jc = 0; jc < n; jc += kBlockColumns)
        for (int64_t ic = begin; ic < end; ic += kBlockRows) {
          const int64_t mc = end - ic < kBlockRows ? end - ic : kBlockRows,
                        nc = n - jc < kBlockColumns ? n - jc : kBlockColumns;
          multiply(a, b, ic, ic + mc, jc, nc, k, block, nc, false, scratch);
          store_transposed(block, mc, nc, c.output_buffer(jc * ldc + ic, nullptr), ldc, accumulate);
        }
      return;
    }
  if (!c.is_reduced_floating_point())
    return multiply(a, b, begin, end, 0, n, k, c.output_buffer(begin * ldc, nullptr), ldc, accumulate, scratch);
  for (int64_t ic = begin; ic < end; ic += kHalfBlockRows) {
    const int64_t mc = end - ic < kHalfBlockRows ? end - ic : kHalfBlockRows;
    for (int64_t jc = 0; jc < n; jc += kBlockColumns) {
      const int64_t nc = n - jc < kBlockColumns ? n - jc : kBlockColumns;
      multiply(a, b, ic, ic + mc, jc, nc, k, block, nc, false, scratch);
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

TANDEM_COMPUTE_TYPE_LOOP(gemm_rows, gemm_body)
