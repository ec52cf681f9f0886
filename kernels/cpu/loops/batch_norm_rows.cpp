// Rows of batch normalisation of (rows, C): of channels-last images, whose rows are pixels, and of vectors. Neighbours
// in a vector are neighbouring channels. A channel's sums are those that channel_sums (norm.cpp) takes: sixteen lanes,
// folded into a double after every kFold rows; here each such block of rows is a unit of its own.
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kFold = 2048;

/// Scalars 0 and 1: rows and channels. Calls f(offset of the first element, rows, first channel, channels) for each
/// unit: a block of rows and kColumns channels of it.
template <class F> void for_blocks(const Loop& loop, int64_t begin, int64_t end, F f) {
  const int64_t rows = loop.scalars[0].integer, channels = loop.scalars[1].integer;
  const int64_t groups = (channels + kColumns - 1) / kColumns;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / groups * kFold, c = unit % groups * kColumns;
    f(row * channels + c, rows - row < kFold ? rows - row : kFold, c,
      channels - c < kColumns ? channels - c : kColumns);
  }
}
constexpr int64_t kChannels = 256;  // whose factors are kept beside the processor

// Loops over n rows of `width` channels, `stride` elements apart. They are so short that there is one for each type.

/// totals[c] = sum of f(i, c) over the rows, as column_sums has it, with as many lanes whatever n is.
template <class C, class F> void block_sums(int64_t n, int64_t width, double* totals, F f) {
  ColumnLanes<C> lanes;
  lanes.add(0, n, width, f);
  C sums[kColumns];
  lanes.fold(kLanes, width, sums);
  for (int64_t c = 0; c < width; ++c) totals[c] = double(sums[c]);
}
/// Of x, or of squares of what it differs from a center.
template <class T, class C>
TANDEM_ONE_COPY void sums(const T* x, int64_t n, int64_t stride, int64_t width, const C* center, double* totals) {
  if (!center) return block_sums<C>(n, width, totals, [=](int64_t i, int64_t c) { return C(x[i * stride + c]); });
  block_sums<C>(n, width, totals, [=](int64_t i, int64_t c) {
    const C off = C(x[i * stride + c]) - center[c];
    return off * off;
  });
}
/// Of dy, and of dy (x - mean).
template <class T, class C>
TANDEM_ONE_COPY void slope_sums(const T* dy, const T* x, int64_t n, int64_t stride, int64_t width, const C* mean,
                                double* totals, double* slopes) {
  block_sums<C>(n, width, totals, [=](int64_t i, int64_t c) { return C(dy[i * stride + c]); });
  block_sums<C>(n, width, slopes,
                [=](int64_t i, int64_t c) { return C(dy[i * stride + c]) * (C(x[i * stride + c]) - mean[c]); });
}
/// y = x scale + shift
template <class T, class C>
TANDEM_ONE_COPY void apply(const T* x, T* y, int64_t n, int64_t stride, int64_t width, const C* scale, const C* shift) {
  for (int64_t r = 0; r < n; ++r, x += stride, y += stride) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) y[c] = T(C(x[c]) * scale[c] + shift[c]);
  }
}
/// What the gradient of a channel's element is made of.
template <class C> struct Slopes { C scale[kChannels], mean[kChannels], from_mean[kChannels], from_var[kChannels]; };
template <class T, class C>
TANDEM_ONE_COPY void backward(const T* dy, const T* x, T* dx, int64_t n, int64_t stride, int64_t width,
                              const Slopes<C>& s, bool training) {
  for (int64_t r = 0; r < n; ++r, dx += stride, dy += stride, x += stride) {
    if (training) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c)
        dx[c] = T(s.scale[c] * (C(dy[c]) - s.from_mean[c] - (C(x[c]) - s.mean[c]) * s.from_var[c]));
    } else {  // x has no part in it, nor has a NaN in x
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) dx[c] = T(s.scale[c] * C(dy[c]));
    }
  }
}

/// Operands: double sums (blocks, channels) of x, or of squares of what it differs from a center; x, center or none.
template <class C> void sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  const C* const center = data<const C>(loop, 2);
  visit_type<C>(loop.dtype, [&]<class T>() {
    for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
      sums(data<const T>(loop, 1) + at, n, channels, width, center ? center + c : center,
           data<double>(loop, 0) + at / channels / kFold * channels + c);
    });
  });
}
/// Operands: double sums (blocks, channels) of dy, and of dy (x - mean); dy, x, mean.
template <class C> void slope_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  visit_type<C>(loop.dtype, [&]<class T>() {
    for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
      const int64_t to = at / channels / kFold * channels + c;
      slope_sums(data<const T>(loop, 2) + at, data<const T>(loop, 3) + at, n, channels, width,
                 data<const C>(loop, 4) + c, data<double>(loop, 0) + to, data<double>(loop, 1) + to);
    });
  });
}

/// Calls f(first channel, channels) for groups of kChannels.
template <class F> void for_channels(const Loop& loop, F f) {
  const int64_t channels = loop.scalars[1].integer;
  for (int64_t c = 0; c < channels; c += kChannels) f(c, channels - c < kChannels ? channels - c : kChannels);
}
/// Operands: y, x, mean, rstd, weight or none, bias or none. A unit is one row.
template <class C> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for_channels(loop, [&](int64_t first, int64_t width) {
    C scale[kChannels], shift[kChannels];
    for (int64_t c = 0; c < width; ++c) {
      TANDEM_ONE_BY_ONE
      scale[c] = data<const C>(loop, 3)[first + c] * (weight ? weight[first + c] : C(1));
      shift[c] = (bias ? bias[first + c] : C(0)) - data<const C>(loop, 2)[first + c] * scale[c];
    }
    visit_type<C>(loop.dtype, [&]<class T>() {
      const int64_t at = begin * channels + first;
      apply(data<const T>(loop, 1) + at, data<T>(loop, 0) + at, end - begin, channels, width, scale, shift);
    });
  });
}
/// Operands: dx, dy, x, mean, rstd, weight or none, double sums (2, channels) of dy and of dy (x - mean). Scalar 2:
/// whether in training mode. A unit is one row.
template <class C> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  const double all_rows = double(loop.scalars[0].integer);
  const C* const weight = data<const C>(loop, 5);
  for_channels(loop, [&](int64_t first, int64_t width) {
    Slopes<C> s;
    for (int64_t c = 0; c < width; ++c) {
      TANDEM_ONE_BY_ONE
      const C rstd = data<const C>(loop, 4)[first + c];
      const double* const sums = data<const double>(loop, 6) + first + c;
      s.scale[c] = rstd * (weight ? weight[first + c] : C(1));
      s.mean[c] = data<const C>(loop, 3)[first + c];
      s.from_mean[c] = C(sums[0] / all_rows);
      s.from_var[c] = C(sums[channels] * double(rstd) / all_rows) * rstd;
    }
    visit_type<C>(loop.dtype, [&]<class T>() {
      const int64_t at = begin * channels + first;
      backward(data<const T>(loop, 1) + at, data<const T>(loop, 2) + at, data<T>(loop, 0) + at, end - begin, channels,
               width, s, loop.scalars[2].integer != 0);
    });
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(batch_norm_row_sums, sums_body)
TANDEM_EACH_FLOATING(batch_norm_row_slope_sums, slope_sums_body)
TANDEM_EACH_FLOATING(batch_norm_apply_rows, apply_body)
TANDEM_EACH_FLOATING(batch_norm_backward_rows, backward_body)
