// Rows of pooling of channels-last images. The extents hold units and channels; a unit is one row of pixels of what is
// written, and neighbours in a vector are neighbouring channels. A gradient is gathered: each pixel goes through the
// windows that reach it, in their order, so that a sum is rounded once and no two units write to one place.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kGroup = 64;  // channels that are worked on side by side

/// What of the read side a pixel of the written side is made of: rows and columns.
struct Reach {
  Span down, across;
};
/// For the rows [begin, end) of what is written, `rows` an image: calls f(image, row, column, reach, first channel, how
/// many, offset of that element) for groups of the channels of all pixels. down(row) and across(column) are the reach;
/// they divide, which costs as much as a group, so that what they say of columns is kept for all rows.
template <class Down, class Across, class F>
void for_groups(const Loop& loop, int64_t begin, int64_t end, int64_t rows, int64_t columns, Down down, Across across,
                F f) {
  constexpr int64_t kSpans = 256;
  const int64_t channels = loop.extents.size[1];
  for (int64_t from = 0; from < columns; from += kSpans) {
    Span spans[kSpans];
    const int64_t count = lesser(kSpans, columns - from);
    for (int64_t i = 0; i < count; ++i) spans[i] = across(from + i);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / rows, row = unit - image * rows;
      Reach reach{down(row), {}};
      for (int64_t i = 0; i < count; ++i) {
        reach.across = spans[i];
        const int64_t at = (unit * columns + from + i) * channels;
        for (int64_t c = 0; c < channels; c += kGroup)
          f(image, row, from + i, reach, c, lesser(kGroup, channels - c), at + c);
      }
    }
  }
}
/// The side that is read: of a half type the rows that a row of pixels is made of are widened once for all of them.
template <class C> class Rows {
 public:
  Rows(const Loop& loop, int k) : all_(loop, k), room_(scratch<C>()), held_(all_.place(0, room_)) {}
  void hold(int64_t first, int64_t last) {
    if (!all_.is_half() || (first == first_ && last == last_)) return;
    all_.read(first, last - first, room_);
    first_ = first, last_ = last;
  }
  const C* at(int64_t element) const { return held_ + (element - first_); }

 private:
  const Elements<C> all_;
  C *const room_, *const held_;
  int64_t first_ = 0, last_ = 0;
};
/// The places k of a window of max pooling at `o` that lie inside the image.
Span places(const Window& v, int d, int64_t o) {
  const int64_t first = o * v.s[d] - v.p[d], size = d ? v.w : v.h;
  int64_t low = 0, high = v.k[d];
  while (low < high && first + low * v.d[d] < 0) ++low;
  while (high > low && first + (high - 1) * v.d[d] >= size) --high;
  return {low, high};
}

/// Of equal elements the first, of NaNs the last wins, as in max_pool_body. Operands: y, index, x. Room, here and
/// below: the rows that are read for one that is written.
template <class C, class Place> void max_rows(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  const int64_t channels = loop.extents.size[1];
  const Elements<C> result(loop, 0);
  Rows<C> elements(loop, 2);
  const auto down = [&](int64_t oh) { return places(v, 0, oh); };
  const auto across = [&](int64_t ow) { return places(v, 1, ow); };
  for_groups(loop, begin, end, v.oh, v.ow, down, across,
             [&](int64_t n, int64_t oh, int64_t ow, const Reach& reach, int64_t first, int64_t width, int64_t to) {
               C best[kGroup], room[kGroup];
               Place at[kGroup];
               for (int64_t c = 0; c < width; ++c) best[c] = -C(__builtin_inf()), at[c] = Place(-1);
               const int64_t image = n * v.h * v.w * channels, top = oh * v.s[0] - v.p[0];
               if (reach.down.first < reach.down.last)
                 elements.hold(image + (top + reach.down.first * v.d[0]) * v.w * channels,
                               image + (top + (reach.down.last - 1) * v.d[0] + 1) * v.w * channels);
               for (int64_t kh = reach.down.first; kh < reach.down.last; ++kh) {
                 const int64_t h = top + kh * v.d[0];
                 for (int64_t kw = reach.across.first; kw < reach.across.last; ++kw) {
                   const int64_t w = ow * v.s[1] - v.p[1] + kw * v.d[1];
                   const Place here = Place(h * v.w + w);
                   const C* const x = elements.at(image + (h * v.w + w) * channels + first);
                   TANDEM_IVDEP
                   for (int64_t c = 0; c < width; ++c) {
                     const C value = x[c];
                     const bool wins = (at[c] < 0) | (value > best[c]) | (value != value);
                     best[c] = wins ? value : best[c];
                     at[c] = wins ? here : at[c];
                   }
                 }
               }
               C* const y = result.place(to, room);
               int64_t* const index = data<int64_t>(loop, 1) + to;
               for (int64_t c = 0; c < width; ++c) y[c] = best[c];
               result.write(to, width, y);
               for (int64_t c = 0; c < width; ++c) index[c] = at[c];
             });
}
template <class C> void max_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  if (v.h * v.w < (int64_t(1) << 31))
    max_rows<C, typename PlaceOf<C>::type>(loop, v, begin, end);
  else
    max_rows<C, int64_t>(loop, v, begin, end);
}
/// sum[c] = the sum over a reach of term(row, column, its first channel, the offset of that)[c].
template <class C, class Term>
void sum_reach(Rows<C>& from, const Reach& reach, int64_t rows_from, int64_t columns, int64_t channels, int64_t first,
               int64_t width, C* sum, Term term) {
  const int64_t row = columns * channels;
  from.hold((rows_from + reach.down.first) * row, (rows_from + reach.down.last) * row);
  bool begun = false;
  for (int64_t k = reach.down.first; k < reach.down.last; ++k) {
    const int64_t at = (rows_from + k) * row + first;
    const C* const values = from.at(at);
    for (int64_t l = reach.across.first; l < reach.across.last; ++l) {
      const auto of = term(k, l, values + l * channels, at + l * channels);
      if (begun) {
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) sum[c] += of(c);
      } else {
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) sum[c] = C(0) + of(c);
      }
      begun = true;
    }
  }
  for (int64_t c = 0; !begun && c < width; ++c) sum[c] = C(0);
}
/// Operands: dx, dy, index, which says whether a window chose a pixel.
template <class C> void max_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  Window v(loop);
  const Elements<C> result(loop, 0);
  Rows<C> gradient(loop, 1);
  const int64_t channels = loop.extents.size[1];
  for (int d = 0; d < 2; ++d) v.k[d] = (v.k[d] - 1) * v.d[d] + 1;  // all that a window reaches over
  const auto down = [&](int64_t h) { return covering(v, 0, h, h + 1, v.oh); };
  const auto across = [&](int64_t w) { return covering(v, 1, w, w + 1, v.ow); };
  for_groups(loop, begin, end, v.h, v.w, down, across,
             [&](int64_t n, int64_t h, int64_t w, const Reach& reach, int64_t first, int64_t width, int64_t to) {
               const int64_t pixel = h * v.w + w;
               C room[kGroup];
               C* const dx = result.place(to, room);
               sum_reach(gradient, reach, n * v.oh, v.ow, channels, first, width, dx,
                         [&](int64_t, int64_t, const C* dy, int64_t from) {
                           return [=, index = data<const int64_t>(loop, 2) + from](int64_t c) {
                             return index[c] == pixel ? dy[c] : C(0);
                           };
                         });
               result.write(to, width, dx);
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
template <class C, class Windows, bool kBackward> void average(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  const Windows of{v};
  const Elements<C> result(loop, 0);
  Rows<C> given(loop, 1);
  const int64_t channels = loop.extents.size[1];
  const int64_t rows = kBackward ? v.h : v.oh, columns = kBackward ? v.w : v.ow;
  const int64_t from_rows = kBackward ? v.oh : v.h, from_columns = kBackward ? v.ow : v.w;
  const auto down = [&](int64_t i) { return kBackward ? of.windows(0, i) : of.pixels(0, i); };
  const auto across = [&](int64_t j) { return kBackward ? of.windows(1, j) : of.pixels(1, j); };
  for_groups(loop, begin, end, rows, columns, down, across,
             [&](int64_t n, int64_t i, int64_t j, const Reach& reach, int64_t first, int64_t width, int64_t to) {
               C room[kGroup];
               C* const sum = result.place(to, room);
               const auto term = [&](int64_t k, int64_t l, const C* from, int64_t) {
                 const C scale = kBackward ? of.template scale<C>(k, l) : C(1);
                 return [=](int64_t c) { return kBackward ? from[c] * scale : from[c]; };
               };
               sum_reach(given, reach, n * from_rows, from_columns, channels, first, width, sum, term);
               if (!kBackward) {
                 const C scale = of.template scale<C>(i, j);
                 for (int64_t c = 0; c < width; ++c) sum[c] = sum[c] * scale;
               }
               result.write(to, width, sum);
             });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(max_pool2d_channels_last, max_body)
TANDEM_EACH_FLOATING(max_pool2d_backward_channels_last, max_backward_body)
#define TANDEM_PLAIN(body, C) body<C, Plain, false>
#define TANDEM_PLAIN_BACKWARD(body, C) body<C, Plain, true>
#define TANDEM_ADAPTIVE(body, C) body<C, Adaptive, false>
#define TANDEM_ADAPTIVE_BACKWARD(body, C) body<C, Adaptive, true>
TANDEM_COMPUTED_ROW(avg_pool2d_channels_last, TANDEM_PLAIN, average)
TANDEM_COMPUTED_ROW(avg_pool2d_backward_channels_last, TANDEM_PLAIN_BACKWARD, average)
TANDEM_COMPUTED_ROW(adaptive_avg_pool2d_channels_last, TANDEM_ADAPTIVE, average)
TANDEM_COMPUTED_ROW(adaptive_avg_pool2d_backward_channels_last, TANDEM_ADAPTIVE_BACKWARD, average)
