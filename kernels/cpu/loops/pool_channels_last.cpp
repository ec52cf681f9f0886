// Pooling loops for channels-last images. They loop over rows of pixels of the tensor that is written; the extents are
// (rows, channels). A vector holds neighbouring channels. Backward gathers the gradients: it computes each pixel of dx
// from the windows that contain the pixel, in order, so that a sum is rounded once and no two threads write to the same
// pixel.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kChannelGroup = 64;  // number of channels that are computed side by side

/// Ranges of rows and columns of the input that contribute to one pixel of the output.
struct InputRange {
  IndexRange row_range, column_range;
};
/// Calls f(image, row, column, reach, first channel, number of channels, offset of the first element) for each pixel in
/// rows [begin, end) of the output and each group of channels. `reach` has the input rows, row_range(row), and the
/// input columns, column_range(column), that contribute to the pixel. The output has `rows` rows per image. A call of
/// column_range() divides, which takes about as long as the work on a group of channels, so its results are computed
/// once for all rows.
template <class RowRange, class ColumnRange, class F>
void for_channel_groups(const Loop& loop, int64_t begin, int64_t end, int64_t rows, int64_t columns, RowRange row_range,
                        ColumnRange column_range, F f) {
  constexpr int64_t kSpans = 256;
  const int64_t channels = loop.extents.size[1];
  for (int64_t from = 0; from < columns; from += kSpans) {
    IndexRange spans[kSpans];
    const int64_t count = min64(kSpans, columns - from);
    for (int64_t i = 0; i < count; ++i) spans[i] = column_range(from + i);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / rows, row = unit - image * rows;
      InputRange reach{row_range(row), {}};
      for (int64_t i = 0; i < count; ++i) {
        reach.column_range = spans[i];
        const int64_t at = (unit * columns + from + i) * channels;
        for (int64_t c = 0; c < channels; c += kChannelGroup)
          f(image, row, from + i, reach, c, min64(kChannelGroup, channels - c), at + c);
      }
    }
  }
}
/// Returns the range of kernel positions of max-pooling window `o` that lie inside the image, along dimension d.
IndexRange kernel_range(const PoolGeometry& v, int d, int64_t o) {
  const int64_t first = o * v.s[d] - v.p[d], size = d ? v.w : v.h;
  int64_t low = 0, high = v.k[d];
  while (low < high && first + low * v.d[d] < 0) ++low;
  while (high > low && first + (high - 1) * v.d[d] >= size) --high;
  return {low, high};
}

/// The rectangle of input pixels that contribute to one output pixel, for `width` channels. row_stride and stride are
/// the distances between rows and between columns, in elements. Unlike the functions that use it, this struct is not a
/// template.
struct Pixels {
  int64_t rows, row_stride, columns, stride, width;
  Pixels(const InputRange& reach, int64_t row, int64_t column, int64_t channels)
      : rows(reach.row_range.last - reach.row_range.first),
        row_stride(row),
        columns(reach.column_range.last - reach.column_range.first),
        stride(column),
        width(channels) {}
};
/// For each channel c, computes result[c] = finish(sum over the pixels of term(row, column, offset of the pixel)(c)).
/// The sum of a half type is kept in float and rounded once.
template <class T, class Term, class Finish>
TANDEM_HD void sum_pixels(const Pixels& p, T* result, Term term, Finish finish) {
  using C = OpMath<T>;
  C held[kChannelGroup];
  C* sum;
  if constexpr (__is_same(T, C))
    sum = result;
  else
    sum = held;
  bool begun = false;
  for (int64_t k = 0; k < p.rows; ++k)
    for (int64_t l = 0; l < p.columns; ++l) {
      const auto of = term(k, l, k * p.row_stride + l * p.stride);
      if (begun) {
        TANDEM_IVDEP
        for (int64_t c = 0; c < p.width; ++c) sum[c] += of(c);
      } else {
        TANDEM_IVDEP
        for (int64_t c = 0; c < p.width; ++c) sum[c] = C(0) + of(c);
      }
      begun = true;
    }
  for (int64_t c = 0; !begun && c < p.width; ++c) {
    TANDEM_NO_VECTORIZE
    sum[c] = C(0);
  }
  for (int64_t c = 0; c < p.width; ++c) result[c] = T(finish(sum[c]));
}
/// Finds the largest pixel of each channel, and its index. The maximum is the first of equal elements, or the last of
/// several NaNs, as in max_pool_body. `first_index` is the index of the first pixel; `row_step` and `column_step` are
/// the steps of the index per row and per column.
template <class T, class Index>
TANDEM_HD void find_maximum(const T* x, const Pixels& p, Index first_index, Index row_step, Index column_step, T* y,
                            int64_t* index) {
  using C = OpMath<T>;
  C best[kChannelGroup];
  Index at[kChannelGroup];
  for (int64_t c = 0; c < kChannelGroup; ++c) {
    best[c] = -C(__builtin_inf());
    at[c] = Index(-1);
  }
  for (int64_t k = 0; k < p.rows; ++k)
    for (int64_t l = 0; l < p.columns; ++l) {
      const T* const from = x + k * p.row_stride + l * p.stride;
      const Index here = Index(first_index + Index(k) * row_step + Index(l) * column_step);
      TANDEM_IVDEP
      for (int64_t c = 0; c < p.width; ++c) {
        if constexpr (sizeof(Index) > sizeof(C))
          TANDEM_NO_VECTORIZE  // not vectorised: used only for planes of 2^31 pixels or more
              const C value = C(from[c]);
        const bool wins = (at[c] < 0) | (value > best[c]) | (value != value);
        best[c] = wins ? value : best[c];
        at[c] = wins ? here : at[c];
      }
    }
  for (int64_t c = 0; c < p.width; ++c) y[c] = T(best[c]);
  for (int64_t c = 0; index && c < p.width; ++c) index[c] = at[c];
}
/// Computes one pixel of dx: the sum of the gradients of the windows that chose this pixel as their maximum.
template <class T>
TANDEM_HD void sum_chosen_gradients(const T* dy, const int64_t* index, const Pixels& p, int64_t pixel, T* dx) {
  using C = OpMath<T>;
  const auto term = [=](int64_t, int64_t, int64_t at) {
    return [=, dy = dy + at, index = index + at](int64_t c) { return index[c] == pixel ? C(dy[c]) : C(0); };
  };
  sum_pixels(p, dx, term, [](C sum) { return sum; });
}
template <class T> TANDEM_HD void average_pixels(const T* x, const Pixels& p, OpMath<T> scale, T* y) {
  using C = OpMath<T>;
  const auto term = [=](int64_t, int64_t, int64_t at) { return [x = x + at](int64_t c) { return C(x[c]); }; };
  sum_pixels(p, y, term, [=](C sum) { return sum * scale; });
}

/// Max pooling of rows [begin, end) of y. Operands: y, index or none, x.
template <class C, class Index>
void max_pool_rows(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const int64_t channels = loop.extents.size[1];
  int64_t* const index = data<int64_t>(loop, 1);
  const auto row_range = [&](int64_t oh) { return kernel_range(v, 0, oh); };
  const auto column_range = [&](int64_t ow) { return kernel_range(v, 1, ow); };
  for_channel_groups(
      loop, begin, end, v.oh, v.ow, row_range, column_range,
      [&](int64_t n, int64_t oh, int64_t ow, const InputRange& reach, int64_t first, int64_t width, int64_t to) {
        const int64_t h = oh * v.s[0] - v.p[0] + reach.row_range.first * v.d[0];
        const int64_t first_index = h * v.w + ow * v.s[1] - v.p[1] + reach.column_range.first * v.d[1];
        const int64_t at = (n * v.h * v.w + first_index) * channels + first;
        const Pixels window(reach, v.d[0] * v.w * channels, v.d[1] * channels, width);
        visit_type<C>(loop.dtype, [&]<class T>() {
          find_maximum(data<const T>(loop, 2) + at, window, Index(first_index), Index(v.d[0] * v.w), Index(v.d[1]),
                       data<T>(loop, 0) + to, index ? index + to : nullptr);
        });
      });
}
template <class C> void max_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolGeometry v(loop);
  if (v.h * v.w < (int64_t(1) << 31))
    max_pool_rows<C, typename IndexTypeOf<C>::type>(loop, v, begin, end);
  else
    max_pool_rows<C, int64_t>(loop, v, begin, end);
}
/// Computes rows [begin, end) of dx. Operands: dx, dy, index of the pixel that each window chose.
template <class C> void max_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  PoolGeometry v(loop);
  const int64_t channels = loop.extents.size[1];
  // replaces v.k by the extent of a window, dilation included
  for (int d = 0; d < 2; ++d) v.k[d] = (v.k[d] - 1) * v.d[d] + 1;
  const auto row_range = [&](int64_t h) { return windows_covering(v, 0, h, h + 1, v.oh); };
  const auto column_range = [&](int64_t w) { return windows_covering(v, 1, w, w + 1, v.ow); };
  for_channel_groups(
      loop, begin, end, v.h, v.w, row_range, column_range,
      [&](int64_t n, int64_t h, int64_t w, const InputRange& reach, int64_t first, int64_t width, int64_t to) {
        const Pixels windows(reach, v.ow * channels, channels, width);
        const int64_t at = ((n * v.oh + reach.row_range.first) * v.ow + reach.column_range.first) * channels + first;
        visit_type<C>(loop.dtype, [&]<class T>() {
          sum_chosen_gradients(data<const T>(loop, 1) + at, data<const int64_t>(loop, 2) + at, windows, h * v.w + w,
                               data<T>(loop, 0) + to);
        });
      });
}

/// Windows of average pooling. For adaptive pooling the kernel size is given as 0, and windows differ in size.
struct AverageWindows {
  const PoolGeometry& v;
  bool adaptive() const { return v.k[0] == 0; }
  IndexRange pixels(int d, int64_t o) const {
    const int64_t size = d ? v.w : v.h, first = o * v.s[d] - v.p[d];
    return adaptive() ? adaptive_window(o, size, d ? v.ow : v.oh)
                      : IndexRange{max64(first, 0), min64(first + v.k[d], size)};
  }
  IndexRange windows(int d, int64_t i) const {
    const int64_t size = d ? v.w : v.h, out = d ? v.ow : v.oh;
    // In adaptive pooling, adaptive_window() with input and output exchanged gives the windows that contain pixel i.
    return adaptive() ? adaptive_window(i, out, size) : windows_covering(v, d, i, i + 1, out);
  }
  template <class C> C scale(int64_t oh, int64_t ow) const {
    if (!adaptive()) return window_scale<C>(v, oh, ow);
    const IndexRange rows = pixels(0, oh), columns = pixels(1, ow);
    return C(1) / C((rows.last - rows.first) * (columns.last - columns.first));
  }
};
/// Computes one pixel of dx.
template <class T>
TANDEM_HD void average_backward(const AverageWindows& of, const InputRange& reach, const T* dy, const Pixels& p,
                                T* dx) {
  using C = OpMath<T>;
  const auto term = [&](int64_t k, int64_t l, int64_t at) {
    const C scale = of.template scale<C>(reach.row_range.first + k, reach.column_range.first + l);
    return [=, dy = dy + at](int64_t c) { return C(dy[c]) * scale; };
  };
  sum_pixels(p, dx, term, [](C sum) { return sum; });
}
/// Average pooling of rows [begin, end) of the output. Operands: y, x; in backward: dx, dy.
template <class C, bool kBackward> void average_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolGeometry v(loop);
  const AverageWindows of{v};
  const int64_t channels = loop.extents.size[1];
  const int64_t rows = kBackward ? v.h : v.oh, columns = kBackward ? v.w : v.ow;
  const int64_t from_rows = kBackward ? v.oh : v.h, from_columns = kBackward ? v.ow : v.w;
  const auto row_range = [&](int64_t i) { return kBackward ? of.windows(0, i) : of.pixels(0, i); };
  const auto column_range = [&](int64_t j) { return kBackward ? of.windows(1, j) : of.pixels(1, j); };
  for_channel_groups(
      loop, begin, end, rows, columns, row_range, column_range,
      [&](int64_t n, int64_t i, int64_t j, const InputRange& reach, int64_t first, int64_t width, int64_t to) {
        const Pixels pixels(reach, from_columns * channels, channels, width);
        const int64_t at =
            ((n * from_rows + reach.row_range.first) * from_columns + reach.column_range.first) * channels + first;
        const C scale = kBackward ? C(0) : of.template scale<C>(i, j);
        visit_type<C>(loop.dtype, [&]<class T>() {
          const T* const from = data<const T>(loop, 1) + at;
          if constexpr (kBackward)
            average_backward(of, reach, from, pixels, data<T>(loop, 0) + to);
          else
            average_pixels(from, pixels, scale, data<T>(loop, 0) + to);
        });
      });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(max_pool2d_channels_last, max_body)
TANDEM_COMPUTE_TYPE_LOOP(max_pool2d_backward_channels_last, max_backward_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(avg_pool2d_channels_last, TANDEM_FORWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(avg_pool2d_backward_channels_last, TANDEM_BACKWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(adaptive_avg_pool2d_channels_last, TANDEM_FORWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(adaptive_avg_pool2d_backward_channels_last, TANDEM_BACKWARD_BODY, average_body)
