// Helpers for the pooling loops, which loop over planes. Scalars: H, W, OH, OW, then kernel, stride, padding and
// dilation as pairs (height, width).
#pragma once
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct Window {
  int64_t h, w, oh, ow, k[2], s[2], p[2], d[2];
  explicit Window(const Loop& loop) {
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
template <class T> struct PlaceOf { using type = int32_t; };
template <> struct PlaceOf<double> { using type = int64_t; };

inline int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
/// Half-open range [first, last).
struct Span {
  int64_t first, last;
};
/// Returns the factor by which a window's sum is multiplied: 1 / number of pixels that count.
template <class T> T scale_of(const Window& v, int64_t oh, int64_t ow) {
  int64_t count = 1;
  const int64_t at[2] = {oh, ow}, size[2] = {v.h, v.w};
  for (int i = 0; i < 2; ++i) {
    const int64_t first = at[i] * v.s[i] - v.p[i], last = lesser(first + v.k[i], size[i] + v.p[i]);
    count *= v.d[0] ? last - first : lesser(last, size[i]) - greater(first, 0);
  }
  return T(1) / T(count);
}
/// Returns the range of windows, of `out` windows along dimension d, that contain at least one of the pixels [from,
/// to).
inline Span covering(const Window& v, int d, int64_t from, int64_t to, int64_t out) {
  // Avoids divisions, which take noticeable time for small planes.
  if (from == 0 && to == (d ? v.w : v.h)) return {0, out};
  const int64_t reach = from + v.p[d] - v.k[d] + 1;
  return {reach > 0 ? (reach + v.s[d] - 1) / v.s[d] : 0, lesser((to - 1 + v.p[d]) / v.s[d] + 1, out)};
}
/// Returns the range of pixels of window o in adaptive pooling of `in` pixels to `out` windows.
inline Span adaptive_window(int64_t o, int64_t in, int64_t out) {
  return {o * in / out, ((o + 1) * in + out - 1) / out};
}

/// A rectangle of a plane (ranges of rows and columns), and its memory.
template <class C> struct Part {
  Span rows, columns;
  C* data;  // points to the element in the first row and column
  int64_t stride;
  C* row(int64_t h) const { return data + (h - rows.first) * stride; }
};
/// Reads a plane of an operand: in place or, for a half type, through a Scratch of floats.
template <class C> class Plane {
 public:
  Plane(const Elements<C>& all, const Window& v) : all_(all), v_(v) {}
  void choose(int64_t plane) {
    first_ = plane * v_.h * v_.w;
    held_ = {0, 0};
  }
  /// Calls f(part) for these rows and columns: for one part, or for several if the Scratch cannot hold all of the rows.
  template <class F> void parts(Span rows, Span columns, F f) {
    if (rows.last <= rows.first || columns.last <= columns.first) return;
    const bool half = all_.is_half();
    const int64_t room = half ? kBand / v_.w : v_.h;
    if (rows.last - rows.first <= room) {
      // Reads as many rows as fit, because the next windows need later rows.
      if (rows.first < held_.first || rows.last > held_.last) {
        held_ = {half ? rows.first : 0, half ? lesser(rows.first + room, v_.h) : v_.h};
        held_data_ = all_.read(first_ + held_.first * v_.w, (held_.last - held_.first) * v_.w, room_.data());
      }
      return f(Part<const C>{rows, columns, held_data_ + (rows.first - held_.first) * v_.w + columns.first, v_.w});
    }
    held_ = {0, 0};
    const int64_t width = lesser(columns.last - columns.first, kBand), together = kBand / width;
    for (int64_t h = rows.first; h < rows.last; h += together)
      for (int64_t w = columns.first; w < columns.last; w += width) {
        const Span down{h, lesser(h + together, rows.last)}, across{w, lesser(w + width, columns.last)};
        const int64_t count = across.last - w;
        f(Part<const C>{down, across, all_.read_rows(first_ + h * v_.w + w, down.last - h, v_.w, count, room_.data()),
                        count});
      }
  }

 private:
  const Elements<C>& all_;
  const Window& v_;
  int64_t first_ = 0;
  Span held_{0, 0};
  const C* held_data_ = nullptr;
  Room<C> room_;
};
// See Note [Pooling by 2 x 2].
constexpr int64_t kTileWindows = 1024, kStep = 8;
/// A row of pixels for adjacent windows, copied in type C together with padding, so that the pixels at one kernel
/// position are contiguous over all of these windows.
template <class C> class PixelRow {
  static constexpr int64_t kHeld = kBand * int64_t(sizeof(float)) / int64_t(sizeof(C));  // 32 KiB, as in a Scratch

 public:
  PixelRow(const Window& v, const Elements<C>& all, C beside)
      : v_(v), all_(all), beside_(beside), windows_(greater(1, lesser(kTile, kHeld / 2 / v.s[1]))) {
    apart_ = v.s[1] == 1 ? 0 : lesser(windows_, v.ow) + kStep;
    most_ = greater(1, lesser(v.k[1], kHeld / 2 / greater(v.d[1], apart_)));
  }
  /// Returns the maximum number of windows that a row of pixels holds.
  int64_t windows() const { return windows_; }
  /// Reads from row `row` the pixels of `count` windows, the first of which begins at column `left`, for the kernel's
  /// columns from `from` on.
  void read(int64_t row, int64_t left, int64_t count, int64_t from) {
    from_ = from;
    many_ = lesser(most_, v_.k[1] - from);
    const int64_t s = v_.s[1], d = v_.d[1], first = left + from * d;
    const int64_t last = first + (count - 1) * s + (many_ - 1) * d + 1;
    const Span there{lesser(greater(first, 0), last), lesser(last, v_.w)};
    for (int64_t w = first; w < there.first; ++w) room_[w - first] = beside_;
    for (int64_t w = greater(there.last, there.first); w < last; ++w) room_[w - first] = beside_;
    if (there.first < there.last) {
      C* const to = room_ + (there.first - first);
      const C* const x = all_.read(row * v_.w + there.first, there.last - there.first, to);
      for (int64_t i = 0; x != to && i < there.last - there.first; ++i) to[i] = x[i];
    }
    for (int64_t k = 0; apart_ && k < many_; ++k)
      for (int64_t i = 0; i < count; ++i) rooms_apart_[k * apart_ + i] = room_[k * d + i * s];
  }
  /// column_count(): number of kernel columns that were read. pixels(k): the windows' pixels at the k-th of these
  /// columns. offset(k): distance of these pixels from their windows' first pixels. Up to kStep pixels behind the last
  /// window may be read; their values have no meaning.
  int64_t many() const { return many_; }
  const C* pixels(int64_t k) const { return apart_ ? rooms_apart_ + k * apart_ : room_ + k * v_.d[1]; }
  int64_t offset(int64_t k) const { return (from_ + k) * v_.d[1]; }

 private:
  const Window& v_;
  const Elements<C>& all_;
  const C beside_;
  const int64_t windows_;
  int64_t apart_, most_, from_ = 0, many_ = 0;
  C room_[kHeld + kTile], rooms_apart_[kHeld + kTile];
};
/// Computes a plane of `result` in parts: sets a part to zero, calls f(part), which adds gradients to it, and stores
/// it. The plane is one part or, for a half type, parts that fit into the Scratch.
template <class C, class F> void make_plane(const Elements<C>& result, const Window& v, int64_t plane, F f) {
  Room<C> room;
  const int64_t width = result.is_half() ? lesser(v.w, kBand) : v.w;
  const int64_t together = result.is_half() ? greater(kBand / v.w, 1) : v.h;
  for (int64_t h = 0; h < v.h; h += together)
    for (int64_t w = 0; w < v.w; w += width) {
      const Span rows{h, lesser(h + together, v.h)}, columns{w, lesser(w + width, v.w)};
      const int64_t stride = columns.last - w, count = (rows.last - h) * stride;  // one row, or all columns
      const int64_t at = (plane * v.h + h) * v.w + w;
      C* const made = result.place(at, room.data());
      for (int64_t i = 0; i < count; ++i) made[i] = C(0);
      f(Part<C>{rows, columns, made, stride});
      result.write(at, count, made);
    }
}

// Note [Pooling by 2 x 2]: nearly every network pools by windows of 2 x 2 that fill planes of even sizes. Rows of a few
// elements would leave vectors half empty, so a tile of many rows of windows is treated as one run where memory allows.
// Across a row, where two columns become one, all rows of all planes are one run. Down a column, where two rows become
// one, each row is computed in steps of eight. Such a step may reach into the next row, whose elements are written
// later.
inline bool is_halving(const Window& v) {
  bool yes = v.h == 2 * v.oh && v.w == 2 * v.ow && v.ow <= kTileWindows && v.h * v.w < (int64_t(1) << 31);
  for (int i = 0; i < 2; ++i) yes = yes && v.k[i] == 2 && v.s[i] == 2 && v.p[i] == 0 && v.d[i] == 1;
  return yes;
}
/// Divides the rows of windows of planes [begin, end) into tiles, and calls f(first row, number of rows) for each.
template <class F> void for_tiles(const Window& v, int64_t begin, int64_t end, F f) {
  const int64_t step = kTileWindows / v.ow;
  for (int64_t row = begin * v.oh; row < end * v.oh; row += step)
    f(row, end * v.oh - row < step ? end * v.oh - row : step);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// Instances of a loop body that is one template for both directions, forward and backward.
#define TANDEM_FORWARD(body, C) body<C, false>
#define TANDEM_BACKWARD(body, C) body<C, true>
