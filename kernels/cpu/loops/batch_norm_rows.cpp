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
/// What the gradient of a channel's element is made of. Operands from k on: mean, rstd, weight or none, double sums (2,
/// channels) of dy and of dy (x - mean).
template <class C> struct Slopes {
  C scale[kChannels], mean[kChannels], from_mean[kChannels], from_var[kChannels];
  Slopes(const Loop& loop, int k, int64_t first, int64_t width) {
    const int64_t channels = loop.scalars[1].integer;
    const double all_rows = double(loop.scalars[0].integer);
    const C* const weight = data<const C>(loop, k + 2);
    for (int64_t c = 0; c < width; ++c) {
      TANDEM_ONE_BY_ONE
      const C rstd = data<const C>(loop, k + 1)[first + c];
      const double* const sums = data<const double>(loop, k + 3) + first + c;
      scale[c] = rstd * (weight ? weight[first + c] : C(1));
      mean[c] = data<const C>(loop, k)[first + c];
      from_mean[c] = C(sums[0] / all_rows);
      from_var[c] = C(sums[channels] * double(rstd) / all_rows) * rstd;
    }
  }
};
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
/// What an element of a channel is multiplied by, and what is added. Operands from k on: mean, rstd, weight or none,
/// bias or none.
template <class C> struct Factors {
  C scale[kChannels], shift[kChannels];
  Factors(const Loop& loop, int k, int64_t first, int64_t width) {
    const C *const weight = data<const C>(loop, k + 2), *const bias = data<const C>(loop, k + 3);
    for (int64_t c = 0; c < width; ++c) {
      TANDEM_ONE_BY_ONE
      scale[c] = data<const C>(loop, k + 1)[first + c] * (weight ? weight[first + c] : C(1));
      shift[c] = (bias ? bias[first + c] : C(0)) - data<const C>(loop, k)[first + c] * scale[c];
    }
  }
};
/// Operands: y, x, mean, rstd, weight or none, bias or none. A unit is one row.
template <class C> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_channels(loop, [&](int64_t first, int64_t width) {
    const Factors<C> f(loop, 2, first, width);
    visit_type<C>(loop.dtype, [&]<class T>() {
      const int64_t at = begin * channels + first;
      apply(data<const T>(loop, 1) + at, data<T>(loop, 0) + at, end - begin, channels, width, f.scale, f.shift);
    });
  });
}
/// Operands: dx, dy, x, mean, rstd, weight or none, double sums (2, channels) of dy and of dy (x - mean). Scalar 2:
/// whether in training mode. A unit is one row.
template <class C> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_channels(loop, [&](int64_t first, int64_t width) {
    const Slopes<C> s(loop, 3, first, width);
    visit_type<C>(loop.dtype, [&]<class T>() {
      const int64_t at = begin * channels + first;
      backward(data<const T>(loop, 1) + at, data<const T>(loop, 2) + at, data<T>(loop, 0) + at, end - begin, channels,
               width, s, loop.scalars[2].integer != 0);
    });
  });
}

// Batch norm, ReLU and max pooling by windows that lie side by side, as one: of what lies between them nothing is
// written, but of which pixel of its window each pooled element is, or kNone where ReLU made it 0. In backward the
// gradient of a normalised pixel is taken from its window where it is needed. Values are those of the three loops one
// after the other, to the last bit. Scalars 3 to 8: H, W, OH, OW, and the window's size.
constexpr uint8_t kNone = 255;
struct PoolWindows {
  int64_t h, w, oh, ow, kh, kw;
  explicit PoolWindows(const Loop& loop) {
    const LoopScalar* const v = loop.scalars + 3;
    h = v[0].integer, w = v[1].integer, oh = v[2].integer, ow = v[3].integer, kh = v[4].integer, kw = v[5].integer;
  }
};

/// One window of `width` channels, at most kColumns, of x, whose rows are `row` elements apart and pixels `pixel`.
TANDEM_ONE_COPY void largest(const float* x, int64_t row, int64_t pixel, int64_t kh, int64_t kw, int64_t width,
                             const float* scale, const float* shift, float* y, uint8_t* chosen) {
  float best[kColumns], value[kColumns];  // in one loop the compiler would make branches of both choices
  int32_t at[kColumns];
  for (int64_t c = 0; c < kColumns; ++c) best[c] = -__builtin_inff(), at[c] = -1;
  for (int64_t k = 0; k < kh; ++k)
    for (int64_t l = 0; l < kw; ++l) {
      const float* const from = x + k * row + l * pixel;
      const int32_t here = int32_t(k * kw + l);
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) {
        const float normal = from[c] * scale[c] + shift[c];
        value[c] = normal < 0 ? 0 : normal;
      }
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) {
        const bool wins = (at[c] < 0) | (value[c] > best[c]) | (value[c] != value[c]);
        best[c] = wins ? value[c] : best[c];
        at[c] = wins ? here : at[c];
      }
    }
  for (int64_t c = 0; c < width; ++c) y[c] = best[c];
  for (int64_t c = 0; c < width; ++c) chosen[c] = uint8_t(best[c] <= 0 ? int32_t(kNone) : at[c]);
}
/// Operands: y, chosen, x, mean, rstd, weight or none, bias or none. A unit is one row of windows.
void norm_relu_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolWindows v(loop);
  const int64_t channels = loop.scalars[1].integer;
  for_channels(loop, [&](int64_t first, int64_t all) {
    const Factors<float> f(loop, 3, first, all);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / v.oh, top = image * v.h + (unit - image * v.oh) * v.kh;
      for (int64_t o = 0; o < v.ow; ++o)
        for (int64_t c = 0; c < all; c += kColumns) {
          const int64_t to = (unit * v.ow + o) * channels + first + c;
          largest(data<const float>(loop, 2) + (top * v.w + o * v.kw) * channels + first + c, v.w * channels, channels,
                  v.kh, v.kw, all - c < kColumns ? all - c : kColumns, f.scale + c, f.shift + c,
                  data<float>(loop, 0) + to, data<uint8_t>(loop, 1) + to);
        }
    }
  });
}

/// Of at most kFold pixels, the offset of the windows that they lie in, and which of the window's pixels they are.
struct Places {
  int64_t window[kFold];
  uint8_t place[kFold];
  Places(const PoolWindows& v, int64_t channels, int64_t first, int64_t n) {
    int64_t line = first / v.w, column = first - line * v.w;
    for (int64_t i = 0; i < n; ++line, column = 0) {
      const int64_t image = line / v.h, row = line - image * v.h, down = row / v.kh;
      int64_t across = column / v.kw, left = column - across * v.kw;
      for (; column < v.w && i < n; ++column, ++i) {
        const bool inside = down < v.oh && across < v.ow;
        window[i] = inside ? ((image * v.oh + down) * v.ow + across) * channels : 0;
        place[i] = uint8_t(inside ? (row - down * v.kh) * v.kw + left : kNone - 1);
        if (++left == v.kw) left = 0, ++across;
      }
    }
  }
};
/// The gradient of normalised pixels.
struct PoolGradient {
  const Places& places;
  const float* dy;
  const uint8_t* chosen;
  /// Of pixel i.
  void read(int64_t i, int64_t width, float* gradient) const {
    const float* const slope = dy + places.window[i];
    const uint8_t* const from = chosen + places.window[i];
    const uint8_t here = places.place[i];
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) {
      const float all = 0 + slope[c];  // as sums have it, which begin with 0
      gradient[c] = from[c] == here ? all : 0;
    }
  }
};
/// Of at most kColumns channels, as slope_sums.
TANDEM_ONE_COPY void pool_slope_sums(const PoolGradient& g, const float* x, int64_t n, int64_t stride, int64_t width,
                                     const float* mean, double* totals, double* slopes) {
  ColumnLanes<float> all, sloped;
  float gradient[kColumns], sums[kColumns];
  for (int64_t i = 0; i < n; ++i, x += stride) {
    g.read(i, width, gradient);
    all.add(i, 1, width, [&](int64_t, int64_t c) { return gradient[c]; });
    sloped.add(i, 1, width, [&](int64_t, int64_t c) { return gradient[c] * (x[c] - mean[c]); });
  }
  all.fold(kLanes, width, sums);
  for (int64_t c = 0; c < width; ++c) totals[c] = double(sums[c]);
  sloped.fold(kLanes, width, sums);
  for (int64_t c = 0; c < width; ++c) slopes[c] = double(sums[c]);
}
/// Operands: double sums (blocks, channels) as of slope_sums_body; dy, chosen, x, mean.
void norm_relu_pool_slope_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolWindows v(loop);
  const int64_t channels = loop.scalars[1].integer;
  for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    const int64_t to = at / channels / kFold * channels + c;
    const Places places(v, channels, at / channels, n);
    const PoolGradient g{places, data<const float>(loop, 2) + c, data<const uint8_t>(loop, 3) + c};
    pool_slope_sums(g, data<const float>(loop, 4) + at, n, channels, width, data<const float>(loop, 5) + c,
                    data<double>(loop, 0) + to, data<double>(loop, 1) + to);
  });
}
TANDEM_ONE_COPY void pool_backward(const PoolGradient& g, const float* x, float* dx, int64_t n, int64_t stride,
                                   int64_t width, const Slopes<float>& s, bool training) {
  float gradient[kChannels];
  for (int64_t i = 0; i < n; ++i, dx += stride, x += stride) {
    g.read(i, width, gradient);
    backward(gradient, x, dx, 1, stride, width, s, training);
  }
}
/// Operands: dx, dy, chosen, x, mean, rstd, weight or none, double sums as of backward_body. A unit is one pixel.
void norm_relu_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolWindows v(loop);
  const int64_t channels = loop.scalars[1].integer;
  for_channels(loop, [&](int64_t first, int64_t width) {
    const Slopes<float> s(loop, 4, first, width);
    for (int64_t i = begin; i < end; i += kFold) {
      const int64_t n = end - i < kFold ? end - i : kFold, at = i * channels + first;
      const Places places(v, channels, i, n);
      const PoolGradient g{places, data<const float>(loop, 1) + first, data<const uint8_t>(loop, 2) + first};
      pool_backward(g, data<const float>(loop, 3) + at, data<float>(loop, 0) + at, n, channels, width, s,
                    loop.scalars[2].integer != 0);
    }
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(batch_norm_row_sums, sums_body)
TANDEM_EACH_FLOATING(batch_norm_row_slope_sums, slope_sums_body)
TANDEM_EACH_FLOATING(batch_norm_apply_rows, apply_body)
TANDEM_EACH_FLOATING(batch_norm_backward_rows, backward_body)
TANDEM_ROW(norm_relu_pool, norm_relu_pool_body)
TANDEM_ROW(norm_relu_pool_slope_sums, norm_relu_pool_slope_sums_body)
TANDEM_ROW(norm_relu_pool_backward, norm_relu_pool_backward_body)
