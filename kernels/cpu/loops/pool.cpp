// Rows of pooling. Scalars: H, W, OH, OW, then kernel, stride, padding, dilation as pairs; a unit is one plane.
#include "tandem/kernels/cpu/loops/real.h"

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
// steps of eight that reach into the next row, whose elements are written later. Equal elements and NaNs win as in the
// order of memory: the first of the largest, the last NaN.
constexpr int64_t kTileWindows = 1024, kStep = 8;
template <class T> struct PlaceOf { using type = int32_t; };  // of one width with T, so that both fill the same lanes
template <> struct PlaceOf<double> { using type = int64_t; };

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
/// Operands: dx, dy, index. Scalars: elements of a plane of dx, of dy.
template <class T> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t to = loop.scalars[0].integer, from = loop.scalars[1].integer;
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const dx = data<T>(loop, 0) + plane * to;
    const T* const dy = data<const T>(loop, 1) + plane * from;
    const int64_t* const index = data<const int64_t>(loop, 2) + plane * from;
    for (int64_t i = 0; i < to; ++i) dx[i] = T(0);
    for (int64_t i = 0; i < from; ++i) dx[index[i]] += dy[i];
  }
}
/// Calls f(h, w, 1 / divisor) for each input of each window. dilation[0] says whether padding counts in the divisor.
template <class T, class F> void average(const Window& v, int64_t oh, int64_t ow, F f) {
  const int64_t h0 = oh * v.s[0] - v.p[0], w0 = ow * v.s[1] - v.p[1];
  const auto low = [](int64_t a) { return a < 0 ? int64_t(0) : a; };
  const auto less = [](int64_t a, int64_t b) { return a < b ? a : b; };
  const int64_t h1 = less(h0 + v.k[0], v.h + v.p[0]), w1 = less(w0 + v.k[1], v.w + v.p[1]);
  const int64_t padded = (h1 - h0) * (w1 - w0);
  const int64_t hs = low(h0), ws = low(w0), he = less(h1, v.h), we = less(w1, v.w);
  const T scale = T(1) / T(v.d[0] ? padded : (he - hs) * (we - ws));
  for (int64_t h = hs; h < he; ++h)
    for (int64_t w = ws; w < we; ++w) f(h * v.w + w, scale);
}
template <class T, class F> void adaptive(const Window& v, int64_t oh, int64_t ow, F f) {
  const int64_t hs = oh * v.h / v.oh, he = ((oh + 1) * v.h + v.oh - 1) / v.oh, ws = ow * v.w / v.ow,
                we = ((ow + 1) * v.w + v.ow - 1) / v.ow;
  const T scale = T(1) / T((he - hs) * (we - ws));
  for (int64_t h = hs; h < he; ++h)
    for (int64_t w = ws; w < we; ++w) f(h * v.w + w, scale);
}
/// Operands: y, x. Or in backward: dx, dy.
template <class T, bool kAdaptive, bool kBackward> void average_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const wide = kBackward ? data<T>(loop, 0) + plane * v.h * v.w : nullptr;
    const T* const x = kBackward ? nullptr : data<const T>(loop, 1) + plane * v.h * v.w;
    T* const y = kBackward ? nullptr : data<T>(loop, 0) + plane * v.oh * v.ow;
    const T* const dy = kBackward ? data<const T>(loop, 1) + plane * v.oh * v.ow : nullptr;
    if (kBackward)
      for (int64_t i = 0; i < v.h * v.w; ++i) wide[i] = T(0);
    for (int64_t oh = 0; oh < v.oh; ++oh)
      for (int64_t ow = 0; ow < v.ow; ++ow) {
        T sum = T(0);
        const auto visit = [&](int64_t i, T scale) {
          if (kBackward)
            wide[i] += dy[oh * v.ow + ow] * scale;
          else
            sum += x[i] * scale;
        };
        if (kAdaptive)
          adaptive<T>(v, oh, ow, visit);
        else
          average<T>(v, oh, ow, visit);
        if (!kBackward) y[oh * v.ow + ow] = sum;
      }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_REAL_ROW(max_pool2d, max_pool_body)
TANDEM_REAL_ROW(max_pool2d_backward, max_pool_backward_body)
TANDEM_ROW(avg_pool2d, average_body<float, false, false>, average_body<double, false, false>)
TANDEM_ROW(avg_pool2d_backward, average_body<float, false, true>, average_body<double, false, true>)
TANDEM_ROW(adaptive_avg_pool2d, average_body<float, true, false>, average_body<double, true, false>)
TANDEM_ROW(adaptive_avg_pool2d_backward, average_body<float, true, true>, average_body<double, true, true>)
