// Pooling loops for channels-last images. They loop over rows of pixels of the tensor that is written; the extents are
// (rows, channels). A vector holds neighbouring channels; if their number is no multiple of its width, the last vector
// of a pixel overlaps the one before it. Backward gathers the gradients: it computes each pixel of dx from the windows
// that contain the pixel, in order, so that a sum is rounded once and no two threads write to the same pixel.
#include "tandem/kernels/cpu/loops/half_lanes.h"
#include "tandem/kernels/cpu/loops/pool.h"
#include "tandem/kernels/cpu/loops/transpose.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Ranges of rows and columns of the input that contribute to one pixel of the output.
struct InputRange {
  IndexRange row_range, column_range;
};
/// Calls f(image, row, column, reach, first channel, offset of the first element) for each pixel in rows [begin, end)
/// of the output and each block of `width` channels. `reach` has the input rows, row_range(row), and the input columns,
/// column_range(column), that contribute to the pixel. The output has `rows` rows per image. A call of column_range()
/// divides, which takes about as long as the work on a block of channels, so its results are computed once for all
/// rows.
template <class RowRange, class ColumnRange, class F>
TANDEM_HD void for_channel_blocks(const Loop& loop, int64_t width, int64_t begin, int64_t end, int64_t rows,
                                  int64_t columns, RowRange row_range, ColumnRange column_range, F f) {
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
        for (int64_t c = 0; c < channels; c += width) {
          c = min64(c, channels - width);
          f(image, row, from + i, reach, c, at + c);
        }
      }
    }
  }
}
/// Calls f<T, kBytes>() with the element type of the loop's dtype, which is computed in C, and with the size of the
/// widest vector of C that has at most as many lanes as there are channels.
template <class C, int kBytes = kLaneBytes, class F> void visit_type_and_width(const Loop& loop, F f) {
  if constexpr (kBytes > int(sizeof(C)))
    if (loop.extents.size[1] < kBytes / int64_t(sizeof(C))) return visit_type_and_width<C, kBytes / 2>(loop, f);
  visit_type<C>(loop.dtype, [&]<class T>() { f.template operator()<T, kBytes>(); });
}
template <class Index, int kWidth> using IndexLanes = LaneVector<Index, kWidth* int(sizeof(Index))>;
/// Loads kWidth indices, and converts them to Index. If Index has 32 bits, their values must fit into it.
template <class Index, int kWidth> TANDEM_HD IndexLanes<Index, kWidth> load_indices(const int64_t* x) {
  using V = IndexLanes<Index, kWidth>;
  const auto* const words = reinterpret_cast<const V*>(x);
  if constexpr (sizeof(Index) == sizeof(int64_t) || kWidth == 1)
    return words[0];
  else
    return deinterleave<V>(words[0], words[1], false);  // the lower halves of 64-bit integers
}
template <class Index, int kWidth> TANDEM_HD void store_indices(int64_t* y, IndexLanes<Index, kWidth> v) {
  if constexpr (sizeof(Index) == sizeof(int64_t)) {
    *reinterpret_cast<IndexLanes<Index, kWidth>*>(y) = v;
  } else if constexpr (kWidth == 1) {
    y[0] = v[0];
  } else {
    using V = IndexLanes<Index, kWidth>;
    const V sign = v < 0;
    V* const words = reinterpret_cast<V*>(y);
    words[0] = interleave<false, V, kWidth>(v, sign);
    words[1] = interleave<true, V, kWidth>(v, sign);
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

/// The rectangle of input pixels that contribute to one output pixel. row_stride and stride are the distances between
/// rows and between columns, in elements.
struct Pixels {
  int64_t rows, row_stride, columns, stride;
  Pixels(const InputRange& reach, int64_t row, int64_t column)
      : rows(reach.row_range.last - reach.row_range.first),
        row_stride(row),
        columns(reach.column_range.last - reach.column_range.first),
        stride(column) {}
};
/// Returns, for a block of channels, the sum over the pixels of term(row, column, offset of the pixel).
template <class C, int kBytes, class Term> TANDEM_HD LaneVector<C, kBytes> sum_pixels(const Pixels& p, Term term) {
  LaneVector<C, kBytes> sum{};
  for (int64_t k = 0; k < p.rows; ++k)
    for (int64_t l = 0; l < p.columns; ++l) sum += term(k, l, k * p.row_stride + l * p.stride);
  return sum;
}
/// Finds the largest pixel of each channel of a block, and its index. The maximum is the first of equal elements, or
/// the last of several NaNs, as in max_pool_body. `first_index` is the index of the first pixel; `row_step` and
/// `column_step` are the steps of the index per row and per column.
template <class T, int kBytes, class Index>
TANDEM_HD void find_maximum(const T* x, const Pixels& p, Index first_index, Index row_step, Index column_step, T* y,
                            int64_t* index) {
  using C = OpMath<T>;
  constexpr int kWidth = kBytes / int(sizeof(C));
  using Mask = LaneVector<typename IndexTypeOf<C>::type, kBytes>;
  using Indices = LaneVector<Index, kWidth* int(sizeof(Index))>;
  auto best = LaneVector<C, kBytes>{} - C(__builtin_inf());
  Indices at = Indices{} - 1;
  for (int64_t k = 0; k < p.rows; ++k)
    for (int64_t l = 0; l < p.columns; ++l) {
      const auto value = load_converted<T, kBytes>(x + k * p.row_stride + l * p.stride);
      const Index here = Index(first_index + Index(k) * row_step + Index(l) * column_step);
      const Mask wins = (value > best) | (value != value) | __builtin_convertvector(at < 0, Mask);
      best = wins ? value : best;
      at = __builtin_convertvector(wins, Indices) ? Indices{} + here : at;
    }
  store_converted<T, kBytes>(y, best);
  if (index) store_indices<Index, kWidth>(index, at);
}

/// Max pooling of rows [begin, end) of y. Operands: y, index or none, x.
template <class T, int kBytes, class Index>
void max_pool_rows(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const int64_t channels = loop.extents.size[1];
  int64_t* const index = data<int64_t>(loop, 1);
  T* const y = data<T>(loop, 0);
  const T* const x = data<const T>(loop, 2);
  const auto row_range = [&](int64_t oh) { return kernel_range(v, 0, oh); };
  const auto column_range = [&](int64_t ow) { return kernel_range(v, 1, ow); };
  for_channel_blocks(loop, kBytes / int64_t(sizeof(OpMath<T>)), begin, end, v.oh, v.ow, row_range, column_range,
                     [&](int64_t n, int64_t oh, int64_t ow, const InputRange& reach, int64_t first, int64_t to) {
                       const int64_t h = oh * v.s[0] - v.p[0] + reach.row_range.first * v.d[0];
                       const int64_t first_index = h * v.w + ow * v.s[1] - v.p[1] + reach.column_range.first * v.d[1];
                       const Pixels window(reach, v.d[0] * v.w * channels, v.d[1] * channels);
                       find_maximum<T, kBytes>(x + (n * v.h * v.w + first_index) * channels + first, window,
                                               Index(first_index), Index(v.d[0] * v.w), Index(v.d[1]), y + to,
                                               index ? index + to : nullptr);
                     });
}
/// Computes rows [begin, end) of dx: each pixel is the sum of the gradients of the windows that chose it as their
/// maximum. Operands: dx, dy, index of the pixel that each window chose.
template <class T, int kBytes, class Index>
void max_pool_backward_rows(const Loop& loop, PoolGeometry v, int64_t begin, int64_t end) {
  using C = OpMath<T>;
  constexpr int kWidth = kBytes / int(sizeof(C));
  using Mask = LaneVector<typename IndexTypeOf<C>::type, kBytes>;
  const int64_t channels = loop.extents.size[1];
  T* const dx = data<T>(loop, 0);
  // replaces v.k by the extent of a window, dilation included
  for (int d = 0; d < 2; ++d) v.k[d] = (v.k[d] - 1) * v.d[d] + 1;
  const auto row_range = [&](int64_t h) { return windows_covering(v, 0, h, h + 1, v.oh); };
  const auto column_range = [&](int64_t w) { return windows_covering(v, 1, w, w + 1, v.ow); };
  for_channel_blocks(
      loop, kWidth, begin, end, v.h, v.w, row_range, column_range,
      [&](int64_t n, int64_t h, int64_t w, const InputRange& reach, int64_t first, int64_t to) {
        const int64_t from = ((n * v.oh + reach.row_range.first) * v.ow + reach.column_range.first) * channels + first;
        const T* const dy = data<const T>(loop, 1) + from;
        const int64_t* const index = data<const int64_t>(loop, 2) + from;
        const auto pixel = IndexLanes<Index, kWidth>{} + Index(h * v.w + w);
        const auto term = [&](int64_t, int64_t, int64_t at) {
          const Mask chosen = __builtin_convertvector(load_indices<Index, kWidth>(index + at) == pixel, Mask);
          return chosen ? load_converted<T, kBytes>(dy + at) : LaneVector<C, kBytes>{};
        };
        store_converted<T, kBytes>(dx + to, sum_pixels<C, kBytes>(Pixels(reach, v.ow * channels, channels), term));
      });
}
template <class C, bool kBackward> void max_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolGeometry v(loop);
  const auto compute = [&]<class T, int kBytes, class Index>() {
    if constexpr (kBackward)
      max_pool_backward_rows<T, kBytes, Index>(loop, v, begin, end);
    else
      max_pool_rows<T, kBytes, Index>(loop, v, begin, end);
  };
  using Index = typename IndexTypeOf<C>::type;
  if (v.h * v.w < (int64_t(1) << 31))
    visit_type_and_width<C>(loop, [&]<class T, int kBytes>() { compute.template operator()<T, kBytes, Index>(); });
  else  // one channel at a time, because such planes are rare
    visit_type<C>(loop.dtype, [&]<class T>() { compute.template operator()<T, int(sizeof(C)), int64_t>(); });
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
/// Average pooling of rows [begin, end) of the output. Operands: y, x; in backward: dx, dy.
template <class C, bool kBackward> void average_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolGeometry v(loop);
  const AverageWindows of{v};
  const int64_t channels = loop.extents.size[1];
  const int64_t rows = kBackward ? v.h : v.oh, columns = kBackward ? v.w : v.ow;
  const int64_t from_rows = kBackward ? v.oh : v.h, from_columns = kBackward ? v.ow : v.w;
  const auto row_range = [&](int64_t i) { return kBackward ? of.windows(0, i) : of.pixels(0, i); };
  const auto column_range = [&](int64_t j) { return kBackward ? of.windows(1, j) : of.pixels(1, j); };
  visit_type_and_width<C>(loop, [&]<class T, int kBytes>() {
    T* const result = data<T>(loop, 0);
    const T* const input = data<const T>(loop, 1);
    for_channel_blocks(
        loop, kBytes / int64_t(sizeof(C)), begin, end, rows, columns, row_range, column_range,
        [&](int64_t n, int64_t i, int64_t j, const InputRange& reach, int64_t first, int64_t to) {
          const Pixels pixels(reach, from_columns * channels, channels);
          const T* const from =
              input + ((n * from_rows + reach.row_range.first) * from_columns + reach.column_range.first) * channels +
              first;
          LaneVector<C, kBytes> sum;
          if constexpr (kBackward)
            sum = sum_pixels<C, kBytes>(pixels, [&](int64_t k, int64_t l, int64_t at) {
              const C scale = of.template scale<C>(reach.row_range.first + k, reach.column_range.first + l);
              return load_converted<T, kBytes>(from + at) * scale;
            });
          else
            sum = sum_pixels<C, kBytes>(
                      pixels, [&](int64_t, int64_t, int64_t at) { return load_converted<T, kBytes>(from + at); }) *
                  of.template scale<C>(i, j);
          store_converted<T, kBytes>(result + to, sum);
        });
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(max_pool2d_channels_last, TANDEM_FORWARD_BODY, max_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(max_pool2d_backward_channels_last, TANDEM_BACKWARD_BODY, max_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(avg_pool2d_channels_last, TANDEM_FORWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(avg_pool2d_backward_channels_last, TANDEM_BACKWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(adaptive_avg_pool2d_channels_last, TANDEM_FORWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(adaptive_avg_pool2d_backward_channels_last, TANDEM_BACKWARD_BODY, average_body)
