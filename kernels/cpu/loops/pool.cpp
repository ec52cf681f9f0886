// Rows of max pooling.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class T> struct PlaceOf { using type = int32_t; };  // of one width with T, so that both fill the same lanes
template <> struct PlaceOf<double> { using type = int64_t; };

/// See Note [Halving]. Equal elements and NaNs win as in the order of memory: the first of the largest, the last NaN.
/// Operands: y, index, x.
template <class T> void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using Place = typename PlaceOf<T>::type;
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  T high[2 * kTileWindows + kStep], best[kTileWindows + kStep];
  Place column[2 * kTileWindows + kStep], place[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const T* const x = data<const T>(loop, 2) + 2 * row * v.w;
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * rows * v.ow; ++i) {
      const T a = x[2 * i], b = x[2 * i + 1];
      const bool right = (b > a) | (b != b);
      high[i] = right ? b : a;
      column[i] = right ? Place(1) : Place(0);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const T *const top = high + 2 * r * v.ow, *const bottom = top + v.ow;
      const Place *const top_column = column + 2 * r * v.ow, *const bottom_column = top_column + v.ow;
      T* const to = best + r * v.ow;
      Place* const at = place + r * v.ow;
      const Place corner = Place((row + r) % v.oh * 2 * v.w), below = Place(corner + v.w);
      TANDEM_IVDEP
      for (int64_t i = 0; i < steps * kStep; ++i) {
        const bool lower = (bottom[i] > top[i]) | (bottom[i] != bottom[i]);
        to[i] = lower ? bottom[i] : top[i];
        at[i] = Place(2 * i) + (lower ? bottom_column[i] + below : top_column[i] + corner);
      }
    }
    T* const y = data<T>(loop, 0) + row * v.ow;
    int64_t* const index = data<int64_t>(loop, 1) + row * v.ow;
    for (int64_t i = 0; i < rows * v.ow; ++i) y[i] = best[i];
    for (int64_t i = 0; i < rows * v.ow; ++i) index[i] = place[i];
  });
}
/// Operands: y, index, x.
template <class T> void max_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  if (is_halving(v)) return halve<T>(loop, v, begin, end);
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const x = data<const T>(loop, 2) + plane * v.h * v.w;
    T* y = data<T>(loop, 0) + plane * v.oh * v.ow;
    int64_t* index = data<int64_t>(loop, 1) + plane * v.oh * v.ow;
    for (int64_t oh = 0; oh < v.oh; ++oh)
      for (int64_t ow = 0; ow < v.ow; ++ow) {
        T best = -T(__builtin_inf());
        int64_t at = -1;
        for (int64_t kh = 0; kh < v.k[0]; ++kh) {
          const int64_t h = oh * v.s[0] - v.p[0] + kh * v.d[0];
          if (h < 0 || h >= v.h) continue;
          for (int64_t kw = 0; kw < v.k[1]; ++kw) {
            const int64_t w = ow * v.s[1] - v.p[1] + kw * v.d[1];
            if (w < 0 || w >= v.w) continue;
            const T value = x[h * v.w + w];
            const bool wins = at < 0 || value > best || value != value;
            best = wins ? value : best;
            at = wins ? h * v.w + w : at;
          }
        }
        *y++ = best;
        *index++ = at;
      }
  }
}
/// Operands: dx, dy, index. Scalars: elements of a plane of dx, of dy. A window of padding alone, whose index is -1,
/// has no gradient to give.
template <class T> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t to = loop.scalars[0].integer, from = loop.scalars[1].integer;
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const dx = data<T>(loop, 0) + plane * to;
    const T* const dy = data<const T>(loop, 1) + plane * from;
    const int64_t* const index = data<const int64_t>(loop, 2) + plane * from;
    for (int64_t i = 0; i < to; ++i) dx[i] = T(0);
    for (int64_t i = 0; i < from; ++i)
      if (uint64_t(index[i]) < uint64_t(to)) dx[index[i]] += dy[i];
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_REAL_ROW(max_pool2d, max_pool_body)
TANDEM_REAL_ROW(max_pool2d_backward, max_pool_backward_body)
