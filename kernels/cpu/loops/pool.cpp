// Rows of max pooling.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// See Note [Halving]. Equal elements and NaNs win as in the order of memory: the first of the largest, the last NaN.
/// Operands: y, index, x.
template <class C> void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using Place = typename PlaceOf<C>::type;
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  const Elements<C> result(loop, 0), elements(loop, 2);
  C room[4 * kTileWindows], high[2 * kTileWindows + kStep], best[kTileWindows + kStep];
  Place column[2 * kTileWindows + kStep], place[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const C* const x = elements.read(2 * row * v.w, 4 * rows * v.ow, room);
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * rows * v.ow; ++i) {
      const C a = x[2 * i], b = x[2 * i + 1];
      const bool right = (b > a) | (b != b);
      high[i] = right ? b : a;
      column[i] = right ? Place(1) : Place(0);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const C *const top = high + 2 * r * v.ow, *const bottom = top + v.ow;
      const Place *const top_column = column + 2 * r * v.ow, *const bottom_column = top_column + v.ow;
      C* const to = best + r * v.ow;
      Place* const at = place + r * v.ow;
      const Place corner = Place((row + r) % v.oh * 2 * v.w), below = Place(corner + v.w);
      TANDEM_IVDEP
      for (int64_t i = 0; i < steps * kStep; ++i) {
        const bool lower = (bottom[i] > top[i]) | (bottom[i] != bottom[i]);
        to[i] = lower ? bottom[i] : top[i];
        at[i] = Place(2 * i) + (lower ? bottom_column[i] + below : top_column[i] + corner);
      }
    }
    C* const y = result.place(row * v.ow, room);
    int64_t* const index = data<int64_t>(loop, 1) + row * v.ow;
    for (int64_t i = 0; i < rows * v.ow; ++i) y[i] = best[i];
    result.write(row * v.ow, rows * v.ow, y);
    for (int64_t i = 0; i < rows * v.ow; ++i) index[i] = place[i];
  });
}
/// Operands: y, index, x. Room: a plane of y and one of x.
template <class C> void max_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  if (is_halving(v)) return halve<C>(loop, v, begin, end);
  const Elements<C> result(loop, 0), elements(loop, 2);
  const int64_t made = v.oh * v.ow, taken = v.h * v.w;
  for (int64_t plane = begin; plane < end; ++plane) {
    const C* const x = elements.read(plane * taken, taken, scratch<C>() + made);
    C *const first = result.place(plane * made, scratch<C>()), *y = first;
    int64_t* index = data<int64_t>(loop, 1) + plane * made;
    for (int64_t oh = 0; oh < v.oh; ++oh)
      for (int64_t ow = 0; ow < v.ow; ++ow) {
        C best = -C(__builtin_inf());
        int64_t at = -1;
        for (int64_t kh = 0; kh < v.k[0]; ++kh) {
          const int64_t h = oh * v.s[0] - v.p[0] + kh * v.d[0];
          if (h < 0 || h >= v.h) continue;
          for (int64_t kw = 0; kw < v.k[1]; ++kw) {
            const int64_t w = ow * v.s[1] - v.p[1] + kw * v.d[1];
            if (w < 0 || w >= v.w) continue;
            const C value = x[h * v.w + w];
            const bool wins = at < 0 || value > best || value != value;
            best = wins ? value : best;
            at = wins ? h * v.w + w : at;
          }
        }
        *y++ = best;
        *index++ = at;
      }
    result.write(plane * made, made, first);
  }
}
/// Operands: dx, dy, index. A window of padding alone, whose index is -1, has no gradient to give. Room: a plane of dx
/// and one of dy. A gradient of a half type is summed up in float, and rounded once.
template <class C> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  const Elements<C> result(loop, 0), gradient(loop, 1);
  const int64_t made = v.h * v.w, taken = v.oh * v.ow;
  for (int64_t plane = begin; plane < end; ++plane) {
    const C* const dy = gradient.read(plane * taken, taken, scratch<C>() + made);
    C* const dx = result.place(plane * made, scratch<C>());
    const int64_t* const index = data<const int64_t>(loop, 2) + plane * taken;
    for (int64_t i = 0; i < made; ++i) dx[i] = C(0);
    for (int64_t i = 0; i < taken; ++i)
      if (uint64_t(index[i]) < uint64_t(made)) dx[index[i]] += dy[i];
    result.write(plane * made, made, dx);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(max_pool2d, max_pool_body)
TANDEM_EACH_FLOATING(max_pool2d_backward, max_pool_backward_body)
