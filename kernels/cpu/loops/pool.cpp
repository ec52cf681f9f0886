// Rows of max pooling.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// See Note [Halving]. Equal elements and NaNs win as in the order of memory: the first of the largest, the last NaN.
/// Operands: y, index, x.
template <class T> void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  using Place = typename PlaceOf<T>::type;
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  C high[2 * kTileWindows + kStep], best[kTileWindows + kStep];
  Place column[2 * kTileWindows + kStep], place[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const T* const x = data<const T>(loop, 2) + 2 * row * v.w;
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * rows * v.ow; ++i) {
      const C a = C(x[2 * i]), b = C(x[2 * i + 1]);
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
    T* const y = data<T>(loop, 0) + row * v.ow;
    int64_t* const index = data<int64_t>(loop, 1) + row * v.ow;
    for (int64_t i = 0; i < rows * v.ow; ++i) y[i] = T(best[i]);
    for (int64_t i = 0; i < rows * v.ow; ++i) index[i] = place[i];
  });
}
/// Operands: y, index, x.
template <class T> void max_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const Window v(loop);
  if (is_halving(v)) return halve<T>(loop, v, begin, end);
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const x = data<const T>(loop, 2) + plane * v.h * v.w;
    T* y = data<T>(loop, 0) + plane * v.oh * v.ow;
    int64_t* index = data<int64_t>(loop, 1) + plane * v.oh * v.ow;
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
            const C value = C(x[h * v.w + w]);
            const bool wins = at < 0 || value > best || value != value;
            best = wins ? value : best;
            at = wins ? h * v.w + w : at;
          }
        }
        *y++ = T(best);
        *index++ = at;
      }
  }
}
/// dx of a half type: a run of rows, or of a long row's pixels, is added up in float from the windows that reach it,
/// and rounded once.
template <class T> void gather_max_gradients(const Window& v, T* dx, const T* dy, const int64_t* index) {
  using C = Upcast<T>;
  constexpr int64_t kHeld = 2048;
  const int64_t size = v.h * v.w, held = v.w < kHeld ? kHeld / v.w * v.w : kHeld;
  C sum[kHeld];
  for (int64_t first = 0; first < size; first += held) {
    const int64_t count = size - first < held ? size - first : held;
    for (int64_t i = 0; i < count; ++i) sum[i] = C(0);
    // Windows whose rows reach over these, the last of them and all before its end.
    const int64_t reach = first / v.w + v.p[0] - (v.k[0] - 1) * v.d[0], last = (first + count - 1) / v.w + v.p[0];
    const int64_t begin = reach > 0 ? (reach + v.s[0] - 1) / v.s[0] : 0;
    const int64_t end = last / v.s[0] + 1 < v.oh ? last / v.s[0] + 1 : v.oh;
    for (int64_t i = begin * v.ow; i < end * v.ow; ++i) {
      const int64_t at = index[i] - first;
      if (index[i] >= 0 && at >= 0 && at < count) sum[at] += C(dy[i]);
    }
    for (int64_t i = 0; i < count; ++i) dx[first + i] = T(sum[i]);
  }
}
/// Operands: dx, dy, index. A window of padding alone, whose index is -1, has no gradient to give.
template <class T> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  const int64_t to = v.h * v.w, from = v.oh * v.ow;
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const dx = data<T>(loop, 0) + plane * to;
    const T* const dy = data<const T>(loop, 1) + plane * from;
    const int64_t* const index = data<const int64_t>(loop, 2) + plane * from;
    if constexpr (__is_same(T, Upcast<T>)) {
      for (int64_t i = 0; i < to; ++i) dx[i] = T(0);
      for (int64_t i = 0; i < from; ++i)
        if (uint64_t(index[i]) < uint64_t(to)) dx[index[i]] += dy[i];
    } else {
      gather_max_gradients(v, dx, dy, index);
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(max_pool2d, max_pool_body)
TANDEM_EACH_FLOATING(max_pool2d_backward, max_pool_backward_body)
