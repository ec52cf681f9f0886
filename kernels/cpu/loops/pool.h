// Helpers for the pooling loops, which loop over planes. Scalars: H, W, OH, OW, then kernel, stride, padding and
// dilation as pairs (height, width).
#pragma once
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct PoolGeometry {
  int64_t h, w, oh, ow, k[2], s[2], p[2], d[2];
  explicit PoolGeometry(const Loop& loop) {
    const LoopScalar* v = loop.scalars;
    h = v[0].integer;
    w = v[1].integer;
    oh = v[2].integer;
    ow = v[3].integer;
    for (int i = 0; i < 2; ++i) {
      k[i] = v[4 + i].integer;
      s[i] = v[6 + i].integer;
      p[i] = v[8 + i].integer;
      d[i] = v[10 + i].integer;
    }
  }
};

// Integer type for the index of a pixel. It is as wide as T, so that indices and elements fill the same lanes.
template <class T> struct IndexTypeOf { using type = int32_t; };
template <> struct IndexTypeOf<double> { using type = int64_t; };

inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
/// Half-open range [first, last).
struct IndexRange {
  int64_t first, last;
};
/// Returns the factor by which a window's sum is multiplied: 1 / number of pixels that count.
template <class T> T window_scale(const PoolGeometry& v, int64_t oh, int64_t ow) {
  int64_t count = 1;
  const int64_t at[2] = {oh, ow}, size[2] = {v.h, v.w};
  for (int i = 0; i < 2; ++i) {
    const int64_t first = at[i] * v.s[i] - v.p[i], last = min64(first + v.k[i], size[i] + v.p[i]);
    count *= v.d[0] ? last - first : min64(last, size[i]) - max64(first, 0);
  }
  return T(1) / T(count);
}
/// Returns the range of windows, of `out` windows along dimension d, that contain at least one of the pixels [from,
/// to).
inline IndexRange windows_covering(const PoolGeometry& v, int d, int64_t from, int64_t to, int64_t out) {
  // Avoids divisions, which take noticeable time for small planes.
  if (from == 0 && to == (d ? v.w : v.h)) return {0, out};
  const int64_t reach = from + v.p[d] - v.k[d] + 1;
  return {reach > 0 ? (reach + v.s[d] - 1) / v.s[d] : 0, min64((to - 1 + v.p[d]) / v.s[d] + 1, out)};
}
/// Returns the range of pixels of window o in adaptive pooling of `in` pixels to `out` windows.
inline IndexRange adaptive_window(int64_t o, int64_t in, int64_t out) {
  return {o * in / out, ((o + 1) * in + out - 1) / out};
}

/// A rectangle of a plane (ranges of rows and columns), and its memory.
template <class C> struct PlanePart {
  IndexRange rows, columns;
  C* data;  // address of the element in the part's first row and column
  int64_t stride;
  C* row(int64_t h) const { return data + (h - rows.first) * stride; }
};
/// Reads a plane of an operand: in place or, for a half type, through a Scratch of floats.
template <class C> class PlaneReader {
 public:
  PlaneReader(const OperandElements<C>& all, const PoolGeometry& v) : all_(all), v_(v) {}
  void select_plane(int64_t plane) {
    plane_offset_ = plane * v_.h * v_.w;
    cached_rows_ = {0, 0};
  }
  /// Calls f(part) for these rows and columns: for one part, or for several if the Scratch cannot hold all of the rows.
  template <class F> void for_parts(IndexRange rows, IndexRange columns, F f) {
    if (rows.last <= rows.first || columns.last <= columns.first) return;
    const bool half = all_.is_reduced_floating_point();
    const int64_t room = half ? kBandSize / v_.w : v_.h;
    if (rows.last - rows.first <= room) {
      // Reads as many rows as fit into the Scratch, because the next windows need later rows.
      if (rows.first < cached_rows_.first || rows.last > cached_rows_.last) {
        cached_rows_ = {half ? rows.first : 0, half ? min64(rows.first + room, v_.h) : v_.h};
        cached_data_ = all_.read(plane_offset_ + cached_rows_.first * v_.w,
                                 (cached_rows_.last - cached_rows_.first) * v_.w, scratch_.data());
      }
      return f(PlanePart<const C>{rows, columns,
                                  cached_data_ + (rows.first - cached_rows_.first) * v_.w + columns.first, v_.w});
    }
    cached_rows_ = {0, 0};
    const int64_t width = min64(columns.last - columns.first, kBandSize), together = kBandSize / width;
    for (int64_t h = rows.first; h < rows.last; h += together)
      for (int64_t w = columns.first; w < columns.last; w += width) {
        const IndexRange down{h, min64(h + together, rows.last)}, across{w, min64(w + width, columns.last)};
        const int64_t count = across.last - w;
        f(PlanePart<const C>{down, across,
                             all_.read_rows(plane_offset_ + h * v_.w + w, down.last - h, v_.w, count, scratch_.data()),
                             count});
      }
  }

 private:
  const OperandElements<C>& all_;
  const PoolGeometry& v_;
  int64_t plane_offset_ = 0;
  IndexRange cached_rows_{0, 0};
  const C* cached_data_ = nullptr;
  Scratch<C> scratch_;
};
// Number of windows in a tile, and number of elements in a step along a row; see Note [Pooling by 2 x 2].
constexpr int64_t kTileWindows = 1024, kStep = 8;
/// Pixels of one row for adjacent windows, copied in type C together with padding. The pixels that all these windows
/// have at one kernel position are contiguous.
template <class C> class PixelRow {
  static constexpr int64_t kScratchSize =
      kBandSize * int64_t(sizeof(float)) / int64_t(sizeof(C));  // 32 KiB, as in a Scratch

 public:
  PixelRow(const PoolGeometry& v, const OperandElements<C>& all, C padding_value)
      : v_(v),
        all_(all),
        padding_value_(padding_value),
        windows_(max64(1, min64(kTileSize, kScratchSize / 2 / v.s[1]))) {
    scratch_stride_ = v.s[1] == 1 ? 0 : min64(windows_, v.ow) + kStep;
    max_columns_ = max64(1, min64(v.k[1], kScratchSize / 2 / max64(v.d[1], scratch_stride_)));
  }
  /// Returns the maximum number of windows that a row of pixels holds.
  int64_t windows() const { return windows_; }
  /// Reads the pixels of `count` adjacent windows in row `row`, for the kernel's columns `from` and later. The first
  /// window begins at column `left`.
  void read(int64_t row, int64_t left, int64_t count, int64_t from) {
    from_ = from;
    column_count_ = min64(max_columns_, v_.k[1] - from);
    const int64_t s = v_.s[1], d = v_.d[1], first = left + from * d;
    const int64_t last = first + (count - 1) * s + (column_count_ - 1) * d + 1;
    const IndexRange there{min64(max64(first, 0), last), min64(last, v_.w)};
    for (int64_t w = first; w < there.first; ++w) scratch_[w - first] = padding_value_;
    for (int64_t w = max64(there.last, there.first); w < last; ++w) scratch_[w - first] = padding_value_;
    if (there.first < there.last) {
      C* const to = scratch_ + (there.first - first);
      const C* const x = all_.read(row * v_.w + there.first, there.last - there.first, to);
      for (int64_t i = 0; x != to && i < there.last - there.first; ++i) to[i] = x[i];
    }
    for (int64_t k = 0; scratch_stride_ && k < column_count_; ++k)
      for (int64_t i = 0; i < count; ++i) strided_scratch_[k * scratch_stride_ + i] = scratch_[k * d + i * s];
  }
  /// column_count(): number of kernel columns that were read. pixels(k): the windows' pixels at the k-th of these
  /// columns. offset(k): distance of these pixels from their windows' first pixels. Up to kStep pixels behind the last
  /// window may be read; their values have no meaning.
  int64_t column_count() const { return column_count_; }
  const C* pixels(int64_t k) const {
    return scratch_stride_ ? strided_scratch_ + k * scratch_stride_ : scratch_ + k * v_.d[1];
  }
  int64_t offset(int64_t k) const { return (from_ + k) * v_.d[1]; }

 private:
  const PoolGeometry& v_;
  const OperandElements<C>& all_;
  const C padding_value_;
  const int64_t windows_;
  int64_t scratch_stride_, max_columns_, from_ = 0, column_count_ = 0;
  C scratch_[kScratchSize + kTileSize], strided_scratch_[kScratchSize + kTileSize];
};
/// Computes a plane of `result` in parts: sets a part to zero, calls f(part), which adds gradients to it, and stores
/// it. The plane is one part or, for a half type, parts that fit into the Scratch.
template <class C, class F>
void compute_plane(const OperandElements<C>& result, const PoolGeometry& v, int64_t plane, F f) {
  Scratch<C> room;
  const int64_t width = result.is_reduced_floating_point() ? min64(v.w, kBandSize) : v.w;
  const int64_t together = result.is_reduced_floating_point() ? max64(kBandSize / v.w, 1) : v.h;
  for (int64_t h = 0; h < v.h; h += together)
    for (int64_t w = 0; w < v.w; w += width) {
      const IndexRange rows{h, min64(h + together, v.h)}, columns{w, min64(w + width, v.w)};
      const int64_t stride = columns.last - w, count = (rows.last - h) * stride;  // one row, or all columns
      const int64_t at = (plane * v.h + h) * v.w + w;
      C* const part_data = result.output_buffer(at, room.data());
      for (int64_t i = 0; i < count; ++i) part_data[i] = C(0);
      f(PlanePart<C>{rows, columns, part_data, stride});
      result.write(at, count, part_data);
    }
}

// Note [Pooling by 2 x 2]: nearly every network pools by windows of 2 x 2 that fill planes of even sizes. Rows of a few
// elements would leave vectors half empty, so a tile of many rows of windows is treated as one run where memory allows.
// Across a row, where two columns become one, all rows of all planes are one run. Down a column, where two rows become
// one, each row is computed in steps of eight. Such a step may reach into the next row, whose elements are written
// later.
inline bool is_2x2_pooling(const PoolGeometry& v) {
  bool yes = v.h == 2 * v.oh && v.w == 2 * v.ow && v.ow <= kTileWindows && v.h * v.w < (int64_t(1) << 31);
  for (int i = 0; i < 2; ++i) yes = yes && v.k[i] == 2 && v.s[i] == 2 && v.p[i] == 0 && v.d[i] == 1;
  return yes;
}
/// Divides the rows of windows of planes [begin, end) into tiles, and calls f(first row, number of rows) for each.
template <class F> void for_tiles(const PoolGeometry& v, int64_t begin, int64_t end, F f) {
  const int64_t step = kTileWindows / v.ow;
  for (int64_t row = begin * v.oh; row < end * v.oh; row += step)
    f(row, end * v.oh - row < step ? end * v.oh - row : step);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// Instances of a loop body that is one template for both directions, forward and backward.
#define TANDEM_FORWARD_BODY(body, C) body<C, false>
#define TANDEM_BACKWARD_BODY(body, C) body<C, true>
