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

// Note [Halving]: windows of 2 x 2 that fill planes of even sizes are what nearly every network uses. Rows of a few
// elements would leave vectors half empty, so a tile of many rows of windows is treated as one run where memory allows:
// across (two columns become one) all rows of all planes are one run. Down (two rows become one) goes row by row in
// steps of eight that reach into the next row, whose elements are written later.
constexpr int64_t kTileWindows = 1024, kStep = 8;
bool is_halving(const Window& v) {
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
