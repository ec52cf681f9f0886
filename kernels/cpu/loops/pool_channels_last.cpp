// Rows of pooling of channels-last images. The extents hold units and channels; a unit is one row of pixels of what is
// written, and neighbours in a vector are neighbouring channels. A gradient is gathered: each pixel goes through the
// windows that reach it, in their order, so that a sum is rounded once and no two units write to one place.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kGroup = 64;  // channels that are worked on side by side

/// Calls f(image, row, column, offset of the first channel, how many) for groups of the channels of all pixels of the
/// rows [begin, end) of `rows` an image.
template <class F> void for_groups(const Loop& loop, int64_t begin, int64_t end, int64_t rows, int64_t columns, F f) {
  const int64_t channels = loop.extents.size[1];
  for (int64_t unit = begin; unit < end; ++unit)
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t first = 0; first < channels; first += kGroup)
        f(unit / rows, unit % rows, column, (unit * columns + column) * channels + first,
          lesser(kGroup, channels - first));
}

/// Of equal elements the first, of NaNs the last wins, as in max_pool_body. Operands: y, index, x.
template <class T, class Place> void max_rows(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t channels = loop.extents.size[1];
  for_groups(loop, begin, end, v.oh, v.ow, [&](int64_t n, int64_t oh, int64_t ow, int64_t to, int64_t width) {
    C best[kGroup];
    Place at[kGroup];
    for (int64_t c = 0; c < width; ++c) best[c] = -C(__builtin_inf()), at[c] = Place(-1);
    const T* const image = data<const T>(loop, 2) + n * v.h * v.w * channels + to % channels;
    for (int64_t kh = 0; kh < v.k[0]; ++kh) {
      const int64_t h = oh * v.s[0] - v.p[0] + kh * v.d[0];
      if (h < 0 || h >= v.h) continue;
      for (int64_t kw = 0; kw < v.k[1]; ++kw) {
        const int64_t w = ow * v.s[1] - v.p[1] + kw * v.d[1];
        if (w < 0 || w >= v.w) continue;
        const Place here = Place(h * v.w + w);
        const T* const x = image + (h * v.w + w) * channels;
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) {
          const C value = C(x[c]);
          const bool wins = (at[c] < 0) | (value > best[c]) | (value != value);
          best[c] = wins ? value : best[c];
          at[c] = wins ? here : at[c];
        }
      }
    }
    T* const y = data<T>(loop, 0) + to;
    int64_t* const index = data<int64_t>(loop, 1) + to;
    for (int64_t c = 0; c < width; ++c) y[c] = T(best[c]);
    for (int64_t c = 0; c < width; ++c) index[c] = at[c];
  });
}
template <class T> void max_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  if (v.h * v.w < (int64_t(1) << 31))
    max_rows<T, typename PlaceOf<T>::type>(loop, v, begin, end);
  else
    max_rows<T, int64_t>(loop, v, begin, end);
}
/// Operands: dx, dy, index, which says whether a window chose a pixel.
template <class T> void max_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  Window v(loop);
  const int64_t channels = loop.extents.size[1];
  for (int d = 0; d < 2; ++d) v.k[d] = (v.k[d] - 1) * v.d[d] + 1;  // all that a window reaches over
  for_groups(loop, begin, end, v.h, v.w, [&](int64_t n, int64_t h, int64_t w, int64_t to, int64_t width) {
    C sum[kGroup];
    for (int64_t c = 0; c < width; ++c) sum[c] = C(0);
    const Span down = covering(v, 0, h, h + 1, v.oh), across = covering(v, 1, w, w + 1, v.ow);
    const int64_t pixel = h * v.w + w;
    for (int64_t oh = down.first; oh < down.last; ++oh)
      for (int64_t ow = across.first; ow < across.last; ++ow) {
        const int64_t from = ((n * v.oh + oh) * v.ow + ow) * channels + to % channels;
        const T* const dy = data<const T>(loop, 1) + from;
        const int64_t* const index = data<const int64_t>(loop, 2) + from;
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) sum[c] += index[c] == pixel ? C(dy[c]) : C(0);
      }
    T* const dx = data<T>(loop, 0) + to;
    for (int64_t c = 0; c < width; ++c) dx[c] = T(sum[c]);
  });
}

/// Windows of average pooling.
struct Plain {
  const Window& v;
  Span pixels(int d, int64_t o) const {
    const int64_t first = o * v.s[d] - v.p[d];
    return {greater(first, 0), lesser(first + v.k[d], d ? v.w : v.h)};
  }
  Span windows(int d, int64_t i) const { return covering(v, d, i, i + 1, d ? v.ow : v.oh); }
  template <class C> C scale(int64_t oh, int64_t ow) const { return scale_of<C>(v, oh, ow); }
};
struct Adaptive {
  const Window& v;
  Span pixels(int d, int64_t o) const { return adaptive_window(o, d ? v.w : v.h, d ? v.ow : v.oh); }
  // The same rule the other way round.
  Span windows(int d, int64_t i) const { return adaptive_window(i, d ? v.ow : v.oh, d ? v.w : v.h); }
  template <class C> C scale(int64_t oh, int64_t ow) const {
    const Span rows = pixels(0, oh), columns = pixels(1, ow);
    return C(1) / C((rows.last - rows.first) * (columns.last - columns.first));
  }
};
/// Operands: y, x. Or in backward: dx, dy.
template <class T, class Windows, bool kBackward> void average(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const Window v(loop);
  const Windows of{v};
  const int64_t channels = loop.extents.size[1];
  const int64_t rows = kBackward ? v.h : v.oh, columns = kBackward ? v.w : v.ow;
  const int64_t from_rows = kBackward ? v.oh : v.h, from_columns = kBackward ? v.ow : v.w;
  for_groups(loop, begin, end, rows, columns, [&](int64_t n, int64_t i, int64_t j, int64_t to, int64_t width) {
    C sum[kGroup];
    for (int64_t c = 0; c < width; ++c) sum[c] = C(0);
    const Span down = kBackward ? of.windows(0, i) : of.pixels(0, i);
    const Span across = kBackward ? of.windows(1, j) : of.pixels(1, j);
    for (int64_t k = down.first; k < down.last; ++k)
      for (int64_t l = across.first; l < across.last; ++l) {
        const T* const from =
            data<const T>(loop, 1) + ((n * from_rows + k) * from_columns + l) * channels + to % channels;
        const C scale = kBackward ? of.template scale<C>(k, l) : C(1);
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) sum[c] += kBackward ? C(from[c]) * scale : C(from[c]);
      }
    const C scale = kBackward ? C(1) : of.template scale<C>(i, j);
    T* const result = data<T>(loop, 0) + to;
    for (int64_t c = 0; c < width; ++c) result[c] = T(kBackward ? sum[c] : sum[c] * scale);
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(max_pool2d_channels_last, max_body)
TANDEM_EACH_FLOATING(max_pool2d_backward_channels_last, max_backward_body)
#define TANDEM_PLAIN(body, T) body<T, Plain, false>
#define TANDEM_PLAIN_BACKWARD(body, T) body<T, Plain, true>
#define TANDEM_ADAPTIVE(body, T) body<T, Adaptive, false>
#define TANDEM_ADAPTIVE_BACKWARD(body, T) body<T, Adaptive, true>
TANDEM_FLOATING_ROW(avg_pool2d_channels_last, TANDEM_PLAIN, average)
TANDEM_FLOATING_ROW(avg_pool2d_backward_channels_last, TANDEM_PLAIN_BACKWARD, average)
TANDEM_FLOATING_ROW(adaptive_avg_pool2d_channels_last, TANDEM_ADAPTIVE, average)
TANDEM_FLOATING_ROW(adaptive_avg_pool2d_backward_channels_last, TANDEM_ADAPTIVE_BACKWARD, average)
