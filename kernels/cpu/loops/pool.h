// What rows of pooling share. Scalars: H, W, OH, OW, then kernel, stride, padding, dilation as pairs; a unit is one
// plane.
#pragma once
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct Window {
  int64_t h, w, oh, ow, k[2], s[2], p[2], d[2];
  explicit Window(const Loop& loop) {
    const LoopScalar* v = loop.scalars;
    h = v[0].integer, w = v[1].integer, oh = v[2].integer, ow = v[3].integer;
    for (int i = 0; i < 2; ++i)
      k[i] = v[4 + i].integer, s[i] = v[6 + i].integer, p[i] = v[8 + i].integer, d[i] = v[10 + i].integer;
  }
};

template <class T> struct PlaceOf { using type = int32_t; };  // of one width with T, so that both fill the same lanes
template <> struct PlaceOf<double> { using type = int64_t; };

inline int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
/// Consecutive numbers, the last one not among them.
struct Span {
  int64_t first, last;
};
/// What the sum of a window is multiplied by.
template <class T> T scale_of(const Window& v, int64_t oh, int64_t ow) {
  int64_t count = 1;
  const int64_t at[2] = {oh, ow}, size[2] = {v.h, v.w};
  for (int i = 0; i < 2; ++i) {
    const int64_t first = at[i] * v.s[i] - v.p[i], last = lesser(first + v.k[i], size[i] + v.p[i]);
    count *= v.d[0] ? last - first : lesser(last, size[i]) - greater(first, 0);
  }
  return T(1) / T(count);
}
/// The windows, `out` of them, that pixels [from, to) of dimension d have a part in.
inline Span covering(const Window& v, int d, int64_t from, int64_t to, int64_t out) {
  const int64_t reach = from + v.p[d] - v.k[d] + 1;
  return {reach > 0 ? (reach + v.s[d] - 1) / v.s[d] : 0, lesser((to - 1 + v.p[d]) / v.s[d] + 1, out)};
}
/// Window o of `out` along a dimension of `in` pixels.
inline Span adaptive_window(int64_t o, int64_t in, int64_t out) {
  return {o * in / out, ((o + 1) * in + out - 1) / out};
}

// Note [Halving]: windows of 2 x 2 that fill planes of even sizes are what nearly every network uses. Rows of a few
// elements would leave vectors half empty, so a tile of many rows of windows is treated as one run where memory allows:
// across (two columns become one) all rows of all planes are one run. Down (two rows become one) goes row by row in
// steps of eight that reach into the next row, whose elements are written later.
constexpr int64_t kTileWindows = 1024, kStep = 8;
inline bool is_halving(const Window& v) {
  bool yes = v.h == 2 * v.oh && v.w == 2 * v.ow && v.ow <= kTileWindows && v.h * v.w < (int64_t(1) << 31);
  for (int i = 0; i < 2; ++i) yes = yes && v.k[i] == 2 && v.s[i] == 2 && v.p[i] == 0 && v.d[i] == 1;
  return yes;
}
/// Calls f(first row, rows) for tiles of the rows of windows of all planes.
template <class F> void for_tiles(const Window& v, int64_t begin, int64_t end, F f) {
  const int64_t step = kTileWindows / v.ow;
  for (int64_t row = begin * v.oh; row < end * v.oh; row += step)
    f(row, end * v.oh - row < step ? end * v.oh - row : step);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
