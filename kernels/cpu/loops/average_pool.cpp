// Rows of average pooling. dilation[0] says whether padding counts in the divisor.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kChunk = 256;

/// See Note [Halving]. Operands: y, x.
template <class C> void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  const Elements<C> result(loop, 0), elements(loop, 1);
  C room[4 * kTileWindows], across[2 * kTileWindows + kStep], both[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const int64_t count = rows * v.ow;
    const C* const x = elements.read(2 * row * v.w, 4 * count, room);
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * count; ++i) across[i] = x[2 * i] + x[2 * i + 1];
    for (int64_t r = 0; r < rows; ++r) {
      const C *const top = across + 2 * r * v.ow, *const bottom = top + v.ow;
      C* const to = both + r * v.ow;
      TANDEM_IVDEP
      for (int64_t i = 0; i < steps * kStep; ++i) to[i] = (top[i] + bottom[i]) * C(0.25);
    }
    C* const y = result.place(row * v.ow, room);
    for (int64_t i = 0; i < count; ++i) y[i] = both[i];
    result.write(row * v.ow, count, y);
  });
}

/// Operands: dx, dy.
template <class C> void halve_backward(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  const Elements<C> result(loop, 0), gradient(loop, 1);
  C room[4 * kTileWindows], wide[2 * kTileWindows];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const int64_t count = rows * v.ow;
    const C* const dy = gradient.read(row * v.ow, count, room);
    for (int64_t i = 0; i < count; ++i) wide[2 * i] = wide[2 * i + 1] = dy[i] * C(0.25);
    C* const dx = result.place(2 * row * v.w, room);
    for (int64_t r = 0; r < 2 * rows; ++r)
      __builtin_memcpy(dx + r * v.w, wide + r / 2 * v.w, uint64_t(v.w) * sizeof(C));
    result.write(2 * row * v.w, 4 * count, dx);
  });
}

/// values[i] *= the scale of window (oh, first + i). Only those at the edges differ from the one in the middle.
template <class T> void scale_windows(const Window& v, int64_t oh, int64_t first, int64_t count, T* values) {
  const auto inside = [&](int64_t i) {
    const int64_t w = (first + i) * v.s[1] - v.p[1];
    return w >= 0 && w + v.k[1] <= v.w;
  };
  int64_t left = 0, right = count;
  for (; left < count && !inside(left); ++left) values[left] *= scale_of<T>(v, oh, first + left);
  for (; right > left && !inside(right - 1); --right) values[right - 1] *= scale_of<T>(v, oh, first + right - 1);
  if (left == right) return;
  const T scale = scale_of<T>(v, oh, first + left);
  for (int64_t i = left; i < right; ++i) values[i] *= scale;
}
/// Of `count` windows `stride` apart, whose k-th pixel lies at `at` for the first of them: those for which that pixel
/// is one of `width`.
Span meeting(int64_t at, int64_t count, int64_t stride, int64_t width) {
  return {at < 0 ? (-at + stride - 1) / stride : 0, at < width ? lesser(count, (width - 1 - at) / stride + 1) : 0};
}
/// Calls f(x, y) for planes of operand 1 and of operand 0 that is made, or in backward the other way round.
template <class C, bool kBackward, class F>
void for_planes(const Loop& loop, const Window& v, int64_t begin, int64_t end, F f) {
  const Elements<C> result(loop, 0), given(loop, 1);
  const int64_t wide = v.h * v.w, narrow = v.oh * v.ow;
  const int64_t made = kBackward ? wide : narrow, taken = kBackward ? narrow : wide;
  for (int64_t plane = begin; plane < end; ++plane) {
    C* const from = given.read(plane * taken, taken, scratch<C>() + made);
    C* const to = result.place(plane * made, scratch<C>());
    kBackward ? f(to, from) : f(from, to);
    result.write(plane * made, made, to);
  }
}
/// One row of windows, side by side, element by element of the window: y = the averages, or x += their gradients.
template <class C, bool kBackward, int kStride> void average_row(const Window& v, int64_t oh, C* x, C* y) {
  const int64_t s = kStride ? kStride : v.s[1], h0 = oh * v.s[0] - v.p[0];
  const int64_t top = greater(h0, 0), bottom = lesser(h0 + v.k[0], v.h);
  for (int64_t first = 0; first < v.ow; first += kChunk) {
    const int64_t count = lesser(kChunk, v.ow - first);
    C value[kChunk];
    for (int64_t i = 0; i < count; ++i) value[i] = kBackward ? y[first + i] : C(0);
    if (kBackward) scale_windows(v, oh, first, count, value);
    for (int64_t h = top; h < bottom; ++h)
      for (int64_t k = 0; k < v.k[1]; ++k) {
        const int64_t at = first * s - v.p[1] + k;  // the column of window `first`; those of others may lie within
        const Span those = meeting(at, count, s, v.w);
        C* const row = x + h * v.w + at;
        TANDEM_IVDEP
        for (int64_t i = those.first; i < those.last; ++i) {
          if (kBackward)
            row[i * s] += value[i];
          else
            value[i] += row[i * s];
        }
      }
    if (!kBackward) {
      scale_windows(v, oh, first, count, value);
      for (int64_t i = 0; i < count; ++i) y[first + i] = value[i];
    }
  }
}
template <class C, bool kBackward> void average_plane(const Window& v, C* x, C* y) {
  if (kBackward)
    for (int64_t i = 0; i < v.h * v.w; ++i) x[i] = C(0);
  for (int64_t oh = 0; oh < v.oh; ++oh, y += v.ow)
    if (v.s[1] == 1)
      average_row<C, kBackward, 1>(v, oh, x, y);
    else if (v.s[1] == 2)
      average_row<C, kBackward, 2>(v, oh, x, y);
    else
      average_row<C, kBackward, 0>(v, oh, x, y);
}
/// Operands: y, x. Or in backward: dx, dy. Room: a plane of each. A gradient of a half type is summed up in float, and
/// rounded once.
template <class C, bool kBackward> void average_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  Window plain = v;
  plain.d[0] = plain.d[1] = 1;
  if (is_halving(plain)) return kBackward ? halve_backward<C>(loop, v, begin, end) : halve<C>(loop, v, begin, end);
  for_planes<C, kBackward>(loop, v, begin, end, [&](C* x, C* y) { average_plane<C, kBackward>(v, x, y); });
}

/// Windows of any size and place: element by element.
template <class C, bool kBackward> void adaptive_plane(const Window& v, C* x, C* y) {
  if (kBackward)
    for (int64_t i = 0; i < v.h * v.w; ++i) x[i] = C(0);
  for (int64_t i = 0; i < v.oh; ++i)
    for (int64_t j = 0; j < v.ow; ++j) {
      const Span rows = adaptive_window(i, v.h, v.oh), columns = adaptive_window(j, v.w, v.ow);
      const C scale = C(1) / C((rows.last - rows.first) * (columns.last - columns.first));
      C& window = y[i * v.ow + j];
      C sum = C(0);
      const C g = kBackward ? window * scale : C(0);
      for (int64_t h = rows.first; h < rows.last; ++h)
        for (int64_t w = columns.first; w < columns.last; ++w) {
          if (kBackward)
            x[h * v.w + w] += g;
          else
            sum += x[h * v.w + w];
        }
      if (!kBackward) window = sum * scale;
    }
}
/// As average_body. A window as wide as the plane is one run; equal windows are those of average_body.
template <class C, bool kBackward> void adaptive_body(const Loop& loop, int64_t begin, int64_t end) {
  Window v(loop);
  const bool equal = v.oh > 0 && v.ow > 0 && v.h % v.oh == 0 && v.w % v.ow == 0;
  if (equal) v.k[0] = v.s[0] = v.h / v.oh, v.k[1] = v.s[1] = v.w / v.ow, v.p[0] = v.p[1] = 0, v.d[0] = 1;
  const int64_t run = v.k[0] * v.w;
  for_planes<C, kBackward>(loop, v, begin, end, [&](C* x, C* y) {
    if (!equal) return adaptive_plane<C, kBackward>(v, x, y);
    if (v.ow > 1) return average_plane<C, kBackward>(v, x, y);
    for (int64_t oh = 0; oh < v.oh; ++oh) {
      C* const from = x + oh * run;
      if (kBackward) {
        const C g = y[oh] / C(run);
        for (int64_t i = 0; i < run; ++i) from[i] = g;
      } else {
        y[oh] = lane_sum<C>(run, [from](int64_t i) { return from[i]; }) / C(run);
      }
    }
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_FORWARD(body, C) body<C, false>
#define TANDEM_BACKWARD(body, C) body<C, true>
TANDEM_COMPUTED_ROW(avg_pool2d, TANDEM_FORWARD, average_body)
TANDEM_COMPUTED_ROW(avg_pool2d_backward, TANDEM_BACKWARD, average_body)
TANDEM_COMPUTED_ROW(adaptive_avg_pool2d, TANDEM_FORWARD, adaptive_body)
TANDEM_COMPUTED_ROW(adaptive_avg_pool2d_backward, TANDEM_BACKWARD, adaptive_body)
