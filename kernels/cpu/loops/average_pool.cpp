// Rows of average pooling. dilation[0] says whether padding counts in the divisor.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kChunk = 256;

/// See Note [Halving]. Operands: y, x.
template <class T> void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  C across[2 * kTileWindows + kStep], both[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const T* const x = data<const T>(loop, 1) + 2 * row * v.w;
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * rows * v.ow; ++i) across[i] = C(x[2 * i]) + C(x[2 * i + 1]);
    for (int64_t r = 0; r < rows; ++r) {
      const C *const top = across + 2 * r * v.ow, *const bottom = top + v.ow;
      C* const to = both + r * v.ow;
      TANDEM_IVDEP
      for (int64_t i = 0; i < steps * kStep; ++i) to[i] = (top[i] + bottom[i]) * C(0.25);
    }
    T* const y = data<T>(loop, 0) + row * v.ow;
    for (int64_t i = 0; i < rows * v.ow; ++i) y[i] = T(both[i]);
  });
}

/// Operands: dx, dy.
template <class T> void halve_backward(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  T wide[2 * kTileWindows];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const T* const dy = data<const T>(loop, 1) + row * v.ow;
    for (int64_t i = 0; i < rows * v.ow; ++i) wide[2 * i] = wide[2 * i + 1] = T(C(dy[i]) * C(0.25));
    T* dx = data<T>(loop, 0) + 2 * row * v.w;
    for (int64_t r = 0; r < 2 * rows; ++r, dx += v.w)
      __builtin_memcpy(dx, wide + r / 2 * v.w, uint64_t(v.w) * sizeof(T));
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
/// One row of windows, side by side, element by element of the window: y = the averages, or x += their gradients.
template <class T, bool kBackward, int kStride> void average_row(const Window& v, int64_t oh, T* x, T* y) {
  using C = Upcast<T>;
  static_assert(!kBackward || __is_same(T, C), "a half type would round every sum that it is added to");
  const int64_t s = kStride ? kStride : v.s[1], h0 = oh * v.s[0] - v.p[0];
  const int64_t top = greater(h0, 0), bottom = lesser(h0 + v.k[0], v.h);
  for (int64_t first = 0; first < v.ow; first += kChunk) {
    const int64_t count = lesser(kChunk, v.ow - first);
    C value[kChunk];
    for (int64_t i = 0; i < count; ++i) value[i] = kBackward ? C(y[first + i]) : C(0);
    if (kBackward) scale_windows(v, oh, first, count, value);
    for (int64_t h = top; h < bottom; ++h)
      for (int64_t k = 0; k < v.k[1]; ++k) {
        const int64_t at = first * s - v.p[1] + k;  // the column of window `first`; those of others may lie within
        const Span those = meeting(at, count, s, v.w);
        T* const row = x + h * v.w + at;
        TANDEM_IVDEP
        for (int64_t i = those.first; i < those.last; ++i) {
          if constexpr (kBackward)
            row[i * s] += value[i];
          else
            value[i] += C(row[i * s]);
        }
      }
    if (!kBackward) {
      scale_windows(v, oh, first, count, value);
      for (int64_t i = 0; i < count; ++i) y[first + i] = T(value[i]);
    }
  }
}
/// dx of a half type: a run of pixels is added up in float from all windows that reach it, and rounded once.
template <class T, int kStride> void gather_gradients(const Window& v, T* x, const T* y) {
  using C = Upcast<T>;
  const int64_t s = kStride ? kStride : v.s[1];
  for (int64_t h = 0; h < v.h; ++h)
    for (int64_t first = 0; first < v.w; first += kChunk) {
      const int64_t width = lesser(kChunk, v.w - first);
      const Span down = covering(v, 0, h, h + 1, v.oh), across = covering(v, 1, first, first + width, v.ow);
      C sum[kChunk] = {};
      for (int64_t oh = down.first; oh < down.last; ++oh)
        for (int64_t ow = across.first; ow < across.last; ow += kChunk) {
          const int64_t count = lesser(kChunk, across.last - ow);
          C value[kChunk];
          for (int64_t i = 0; i < count; ++i) value[i] = C(y[oh * v.ow + ow + i]);
          scale_windows(v, oh, ow, count, value);
          for (int64_t k = 0; k < v.k[1]; ++k) {
            const int64_t at = ow * s - v.p[1] + k - first;
            const Span those = meeting(at, count, s, width);
            TANDEM_IVDEP
            for (int64_t i = those.first; i < those.last; ++i) sum[at + i * s] += value[i];
          }
        }
      for (int64_t i = 0; i < width; ++i) x[h * v.w + first + i] = T(sum[i]);
    }
}
template <class T, bool kBackward> void average_plane(const Window& v, T* x, T* y) {
  if constexpr (kBackward && !__is_same(T, Upcast<T>)) {
    v.s[1] == 1   ? gather_gradients<T, 1>(v, x, y)
    : v.s[1] == 2 ? gather_gradients<T, 2>(v, x, y)
                  : gather_gradients<T, 0>(v, x, y);
  } else {
    if (kBackward)
      for (int64_t i = 0; i < v.h * v.w; ++i) x[i] = T(0);
    for (int64_t oh = 0; oh < v.oh; ++oh, y += v.ow)
      if (v.s[1] == 1)
        average_row<T, kBackward, 1>(v, oh, x, y);
      else if (v.s[1] == 2)
        average_row<T, kBackward, 2>(v, oh, x, y);
      else
        average_row<T, kBackward, 0>(v, oh, x, y);
  }
}
/// Operands: y, x. Or in backward: dx, dy.
template <class T, bool kBackward> void average_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  Window plain = v;
  plain.d[0] = plain.d[1] = 1;
  if (is_halving(plain)) return kBackward ? halve_backward<T>(loop, v, begin, end) : halve<T>(loop, v, begin, end);
  T *const x = data<T>(loop, kBackward ? 0 : 1), *const y = data<T>(loop, kBackward ? 1 : 0);
  for (int64_t plane = begin; plane < end; ++plane)
    average_plane<T, kBackward>(v, x + plane * v.h * v.w, y + plane * v.oh * v.ow);
}

/// Calls f(window, rows, columns, what its sum is multiplied by) for windows [oh.first, oh.last) x [ow.first, ow.last).
template <class C, class F> void for_adaptive_windows(const Window& v, Span oh, Span ow, F f) {
  for (int64_t i = oh.first; i < oh.last; ++i)
    for (int64_t j = ow.first; j < ow.last; ++j) {
      const Span rows = adaptive_window(i, v.h, v.oh), columns = adaptive_window(j, v.w, v.ow);
      f(i * v.ow + j, rows, columns, C(1) / C((rows.last - rows.first) * (columns.last - columns.first)));
    }
}
/// Windows of any size and place: element by element.
template <class T, bool kBackward> void adaptive_plane(const Window& v, T* x, T* y) {
  using C = Upcast<T>;
  const Span all_rows{0, v.oh}, all_columns{0, v.ow};
  if constexpr (!kBackward) {
    for_adaptive_windows<C>(v, all_rows, all_columns, [&](int64_t window, Span rows, Span columns, C scale) {
      C sum = C(0);
      for (int64_t h = rows.first; h < rows.last; ++h)
        for (int64_t w = columns.first; w < columns.last; ++w) sum += C(x[h * v.w + w]);
      y[window] = T(sum * scale);
    });
  } else if constexpr (__is_same(T, C)) {
    for (int64_t i = 0; i < v.h * v.w; ++i) x[i] = T(0);
    for_adaptive_windows<C>(v, all_rows, all_columns, [&](int64_t window, Span rows, Span columns, C scale) {
      const C g = y[window] * scale;
      for (int64_t h = rows.first; h < rows.last; ++h)
        for (int64_t w = columns.first; w < columns.last; ++w) x[h * v.w + w] += g;
    });
  } else {  // pixel by pixel, so that a sum is rounded once; which windows reach one is the same rule turned round
    for (int64_t h = 0; h < v.h; ++h)
      for (int64_t w = 0; w < v.w; ++w) {
        C sum = C(0);
        for_adaptive_windows<C>(v, adaptive_window(h, v.oh, v.h), adaptive_window(w, v.ow, v.w),
                                [&](int64_t window, Span, Span, C scale) { sum += C(y[window]) * scale; });
        x[h * v.w + w] = T(sum);
      }
  }
}
/// As average_body. A window as wide as the plane is one run; equal windows are those of average_body.
template <class T, bool kBackward> void adaptive_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  Window v(loop);
  const bool equal = v.oh > 0 && v.ow > 0 && v.h % v.oh == 0 && v.w % v.ow == 0;
  if (equal) v.k[0] = v.s[0] = v.h / v.oh, v.k[1] = v.s[1] = v.w / v.ow, v.p[0] = v.p[1] = 0, v.d[0] = 1;
  const int64_t run = v.k[0] * v.w;
  T *const wide = data<T>(loop, kBackward ? 0 : 1), *const narrow = data<T>(loop, kBackward ? 1 : 0);
  for (int64_t plane = begin; plane < end; ++plane) {
    T *const x = wide + plane * v.h * v.w, *const y = narrow + plane * v.oh * v.ow;
    if (!equal) {
      adaptive_plane<T, kBackward>(v, x, y);
    } else if (v.ow > 1) {
      average_plane<T, kBackward>(v, x, y);
    } else {
      for (int64_t oh = 0; oh < v.oh; ++oh) {
        T* const from = x + oh * run;
        if (kBackward) {
          const T g = T(C(y[oh]) / C(run));
          for (int64_t i = 0; i < run; ++i) from[i] = g;
        } else {
          y[oh] = T(lane_sum<C>(run, [from](int64_t i) { return C(from[i]); }) / C(run));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_FORWARD(body, T) body<T, false>
#define TANDEM_BACKWARD(body, T) body<T, true>
TANDEM_FLOATING_ROW(avg_pool2d, TANDEM_FORWARD, average_body)
TANDEM_FLOATING_ROW(avg_pool2d_backward, TANDEM_BACKWARD, average_body)
TANDEM_FLOATING_ROW(adaptive_avg_pool2d, TANDEM_FORWARD, adaptive_body)
TANDEM_FLOATING_ROW(adaptive_avg_pool2d_backward, TANDEM_BACKWARD, adaptive_body)
