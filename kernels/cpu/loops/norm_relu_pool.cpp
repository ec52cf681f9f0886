// Batch norm, ReLU and max pooling by adjacent windows, fused into one loop that does not write intermediate results.
// For each pooled element only the index of the chosen pixel within its window is stored, or kNoIndex if ReLU made the
// element 0. Backward reads the gradient of a normalised pixel from the pixel's window whenever it needs it. The
// results are bit-equal to the results of three separate loops. Scalars 3 to 8: H, W, OH, OW, and the window's height
// and width.
#include "tandem/kernels/cpu/loops/batch_norm_rows.h"
#include "tandem/kernels/cpu/loops/nontemporal.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr uint8_t kNoIndex = 255;
struct PoolWindows {
  int64_t h, w, oh, ow, kh, kw;
  explicit PoolWindows(const Loop& loop) {
    const LoopScalar* const v = loop.scalars + 3;
    h = v[0].integer;
    w = v[1].integer;
    oh = v[2].integer;
    ow = v[3].integer;
    kh = v[4].integer;
    kw = v[5].integer;
  }
};

// Sizes and types of vectors. The functions below compute kColumnGroup channels at a time in kVectors vectors that stay
// in registers, and the remaining channels in plain loops.
constexpr int kWidth = kLaneBytes / int(sizeof(float)), kVectors = int(kColumnGroup) / kWidth;
using Floats = LaneVector<float, kLaneBytes>;
using Ints = LaneVector<int32_t, kLaneBytes>;
using Bytes = LaneVector<uint8_t, kWidth>;
// Conversions take two steps, because gcc splits vectors if elements become more than twice as wide or, without
// AVX-512, less than half as wide.
using Shorts = LaneVector<uint16_t, 2 * kWidth>;
TANDEM_HD Ints widened(Bytes v) { return __builtin_convertvector(__builtin_convertvector(v, Shorts), Ints); }
TANDEM_HD Bytes narrowed(Ints v) {
  if constexpr (kLaneBytes == 64)
    return __builtin_convertvector(v, Bytes);
  else
    return __builtin_convertvector(__builtin_convertvector(v, Shorts), Bytes);
}
TANDEM_HD Floats load(const float* x) { return load_lanes<float, kLaneBytes>(x); }

/// A row of windows of x, and the memory for their results. Rows of x are `row` elements apart, adjacent pixels `pixel`
/// elements.
struct WindowRow {
  const float* x;
  int64_t row, pixel, kh, kw, windows;
  float* y;
  uint8_t* chosen;
};
template <bool kTwoByTwo>
TANDEM_NOINLINE void pool_window_row_columns(WindowRow r, const float* scale, const float* shift) {
  if (kTwoByTwo) r.kh = r.kw = 2;
  for (int64_t o = 0; o < r.windows; ++o, r.x += r.kw * r.pixel, r.y += r.pixel, r.chosen += r.pixel)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Floats times = load(scale + v * kWidth), plus = load(shift + v * kWidth);
      Floats best = Floats{} - __builtin_inff();
      Ints at = {};
      for (int64_t k = 0; k < r.kh; ++k)
        for (int64_t l = 0; l < r.kw; ++l) {
          const float* const from = r.x + k * r.row + l * r.pixel + v * kWidth;
          // Prefetches the next row of windows, which the processor itself would prefetch too late.
          __builtin_prefetch(from + r.kh * r.row);
          const Floats normal = load(from) * times + plus;
          const Floats value = normal < 0 ? Floats{} : normal;
          const Ints wins = Ints(value > best) | Ints(value != value);
          best = wins ? value : best;
          at = wins ? Ints{} + int32_t(k * r.kw + l) : at;
        }
      at = best <= 0 ? Ints{} + int32_t(kNoIndex) : at;
      *reinterpret_cast<Floats*>(r.y + v * kWidth) = best;
      *reinterpret_cast<Bytes*>(r.chosen + v * kWidth) = narrowed(at);
    }
}
/// Computes a row of windows for `width` channels (at most kColumnGroup).
TANDEM_NOINLINE void pool_window_row(WindowRow r, int64_t width, const float* scale, const float* shift) {
  for (int64_t o = 0; o < r.windows; ++o, r.x += r.kw * r.pixel, r.y += r.pixel, r.chosen += r.pixel) {
    // Arrays for two separate loops: in one loop, the compiler would turn both selections into branches.
    float best[kColumnGroup], value[kColumnGroup];
    int32_t at[kColumnGroup];
    for (int64_t c = 0; c < kColumnGroup; ++c) {
      best[c] = -__builtin_inff();
      at[c] = -1;
    }
    for (int64_t k = 0; k < r.kh; ++k)
      for (int64_t l = 0; l < r.kw; ++l) {
        const float* const from = r.x + k * r.row + l * r.pixel;
        const int32_t here = int32_t(k * r.kw + l);
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
    for (int64_t c = 0; c < width; ++c) r.y[c] = best[c];
    for (int64_t c = 0; c < width; ++c) r.chosen[c] = uint8_t(best[c] <= 0 ? int32_t(kNoIndex) : at[c]);
  }
}
/// Computes rows [begin, end) of windows. Operands: y, chosen, x, mean, rstd, weight or none, bias or none.
void norm_relu_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolWindows v(loop);
  const int64_t channels = loop.scalars[1].integer;
  for_channel_groups(loop, [&](int64_t first, int64_t all) {
    const ForwardFactors<float> f(loop, 3, first, all);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / v.oh, top = image * v.h + (unit - image * v.oh) * v.kh;
      for (int64_t c = 0; c < all; c += kColumnGroup) {
        const int64_t to = unit * v.ow * channels + first + c;
        const WindowRow row{data<const float>(loop, 2) + top * v.w * channels + first + c,
                            v.w * channels,
                            channels,
                            v.kh,
                            v.kw,
                            v.ow,
                            data<float>(loop, 0) + to,
                            data<uint8_t>(loop, 1) + to};
        if (all - c < kColumnGroup)
          pool_window_row(row, all - c, f.scale + c, f.shift + c);
        else if (v.kh == 2 && v.kw == 2)
          pool_window_row_columns<true>(row, f.scale + c, f.shift + c);
        else
          pool_window_row_columns<false>(row, f.scale + c, f.shift + c);
      }
    }
  });
}

constexpr int64_t kPixelChunk =
    128;  // number of pixels that are processed at a time: about 16 KiB for kColumnGroup channels
static_assert(kPixelChunk % kLanes == 0);
/// Locations of at most kPixelChunk pixels. window: offset of the pixel's window in y. index_in_window: index of the
/// pixel within its window, or kNoIndex - 1 if no window contains it.
struct PixelLocations {
  int64_t window[kPixelChunk];
  uint8_t index_in_window[kPixelChunk];
  PixelLocations(const PoolWindows& v, int64_t channels, int64_t first, int64_t n) {
    int64_t line = first / v.w, column = first - line * v.w;
    for (int64_t i = 0; i < n; ++line, column = 0) {
      const int64_t image = line / v.h, row = line - image * v.h, down = row / v.kh;
      int64_t across = column / v.kw, left = column - across * v.kw;
      for (; column < v.w && i < n; ++column, ++i) {
        const bool inside = down < v.oh && across < v.ow;
        window[i] = inside ? ((image * v.oh + down) * v.ow + across) * channels : 0;
        index_in_window[i] = uint8_t(inside ? (row - down * v.kh) * v.kw + left : kNoIndex - 1);
        if (++left == v.kw) {
          left = 0;
          ++across;
        }
      }
    }
  }
};
/// Computes gradients with respect to pixels of batch norm's result: dy of the window that contains the pixel if the
/// window chose the pixel, otherwise 0.
struct PoolGradient {
  const PixelLocations& locations;
  const float* dy;
  const uint8_t* chosen;
  /// Writes to `gradient` the gradient of the loss with respect to pixel i of batch norm's result, for `width`
  /// channels.
  void read(int64_t i, int64_t width, float* gradient) const {
    const float* const window_dy = dy + locations.window[i];
    const uint8_t* const from = chosen + locations.window[i];
    const uint8_t here = locations.index_in_window[i];
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) {
      const float all = 0 + window_dy[c];  // adding to 0 turns -0 into 0, as in a sum
      gradient[c] = from[c] == here ? all : 0;
    }
  }
  /// Returns the gradient of the loss with respect to pixel i of batch norm's result, for one vector of channels, which
  /// starts at channel c.
  TANDEM_HD Floats read(int64_t i, int64_t c) const {
    const Bytes from = *reinterpret_cast<const Bytes*>(chosen + locations.window[i] + c);
    const Ints is_here = widened(from) == int32_t(locations.index_in_window[i]);
    return is_here ? Floats{} + load(dy + locations.window[i] + c) : Floats{};
  }
};
/// Sums over pixels of the gradient with respect to batch norm's result, and of this gradient times (x - mean), for at
/// most kColumnGroup channels. The order of the sums is the same as in gradient_sums (batch_norm_rows.cpp).
struct GradientSums {
  ColumnLanes<float> all, dot_lanes;
  TANDEM_NOINLINE void add_columns(const PoolGradient& g, const float* x, int64_t n, int64_t stride,
                                   const float* mean) {
    for (int64_t i = 0; i < n; ++i, x += stride) {
      float *const to = all.of(i), *const to_dot = dot_lanes.of(i);
#pragma GCC unroll 8
      for (int c = 0; c < kColumnGroup; c += kWidth) {
        const Floats gradient = g.read(i, c);
        *reinterpret_cast<Floats*>(to + c) += gradient;
        // A separate statement, because clang fuses a multiplication and an addition within one expression.
        const Floats product = gradient * (load(x + c) - load(mean + c));
        *reinterpret_cast<Floats*>(to_dot + c) += product;
      }
    }
  }
  TANDEM_NOINLINE void add(const PoolGradient& g, const float* x, int64_t n, int64_t stride, int64_t width,
                           const float* mean) {
    if (width == kColumnGroup) return add_columns(g, x, n, stride, mean);
    float gradient[kColumnGroup];
    for (int64_t i = 0; i < n; ++i, x += stride) {
      g.read(i, width, gradient);
      all.add(i, 1, width, [&](int64_t, int64_t c) { return gradient[c]; });
      dot_lanes.add(i, 1, width, [&](int64_t, int64_t c) { return gradient[c] * (x[c] - mean[c]); });
    }
  }
  void store(int64_t width, double* totals, double* dot_sums) {
    float sums[kColumnGroup];
    all.fold(kLanes, width, sums);
    for (int64_t c = 0; c < width; ++c) totals[c] = double(sums[c]);
    dot_lanes.fold(kLanes, width, sums);
    for (int64_t c = 0; c < width; ++c) dot_sums[c] = double(sums[c]);
  }
};
/// Computes, for backward, the sums over each block of pixels. Operands: sums of the gradient with respect to batch
/// norm's result, and of this gradient times (x - mean), both double (blocks, channels); dy, chosen, x, mean.
void norm_relu_pool_gradient_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolWindows v(loop);
  const int64_t channels = loop.scalars[1].integer;
  for_row_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    GradientSums sums;
    const int64_t first = at / channels;
    for (int64_t i = 0; i < n; i += kPixelChunk) {
      const int64_t count = n - i < kPixelChunk ? n - i : kPixelChunk;
      const PixelLocations locations(v, channels, first + i, count);
      const PoolGradient g{locations, data<const float>(loop, 2) + c, data<const uint8_t>(loop, 3) + c};
      sums.add(g, data<const float>(loop, 4) + at + i * channels, count, channels, width,
               data<const float>(loop, 5) + c);
    }
    const int64_t to = first / kBlockLength * channels + c;
    sums.store(width, data<double>(loop, 0) + to, data<double>(loop, 1) + to);
  });
}

/// Computes dx of n pixels for `width` channels, a multiple of kColumnGroup, in memory order. kNontemporal: writes past
/// the cache (with non-temporal stores).
template <bool kNontemporal>
TANDEM_NOINLINE void pool_backward_columns(const PoolGradient& g, const float* x, float* dx, int64_t n, int64_t stride,
                                           int64_t width, const BackwardFactors<float>& s, bool training) {
  for (int64_t i = 0; i < n; ++i, x += stride, dx += stride)
    for (int64_t c = 0; c < width; c += kWidth) {
      const Floats scale = load(s.scale + c), gradient = g.read(i, c);
      const Floats change = gradient - load(s.mean_term + c) - (load(x + c) - load(s.mean + c)) * load(s.var_term + c);
      const Floats dx_vector = scale * (training ? change : gradient);
      if constexpr (kNontemporal) {
        nontemporal_store(dx + c, &dx_vector, sizeof dx_vector);
      } else {
        *reinterpret_cast<Floats*>(dx + c) = dx_vector;
      }
    }
}
/// Computes dx of n pixels for fewer than kColumnGroup channels. g, x and dx point to the first of these channels,
/// whose coefficients are element `first` of the arrays in s.
TANDEM_NOINLINE void pool_backward(const PoolGradient& g, const float* x, float* dx, int64_t n, int64_t stride,
                                   int64_t width, const BackwardFactors<float>& s, int64_t first, bool training) {
  const float *const scale = s.scale + first, *const mean = s.mean + first, *const mean_term = s.mean_term + first,
                     *const var_term = s.var_term + first;
  float gradient[kColumnGroup];
  for (int64_t i = 0; i < n; ++i, dx += stride, x += stride) {
    g.read(i, width, gradient);
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c)
      dx[c] = training ? scale[c] * (gradient[c] - mean_term[c] - (x[c] - mean[c]) * var_term[c])
                       : scale[c] * gradient[c];  // evaluation mode: a NaN in x must not reach dx
  }
}
/// Computes dx for pixels [begin, end). Operands: dx, dy, chosen, x, mean, rstd, weight or none, double sums as in
/// backward_body (batch_norm_rows.cpp).
void norm_relu_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolWindows v(loop);
  const int64_t channels = loop.scalars[1].integer;
  const bool training = loop.scalars[2].integer != 0;
  for_channel_groups(loop, [&](int64_t first, int64_t width) {
    const BackwardFactors<float> s(loop, 4, first, width);
    const float* const all = data<float>(loop, 0);
    const bool nontemporal = loop.operands[0].bytes >= kNontemporalBytes && reinterpret_cast<intptr_t>(all) % 16 == 0 &&
                             channels * int64_t(sizeof(float)) % 16 == 0;
    for (int64_t i = begin; i < end; i += kPixelChunk) {
      const int64_t n = end - i < kPixelChunk ? end - i : kPixelChunk, at = i * channels + first;
      const PixelLocations locations(v, channels, i, n);
      const PoolGradient g{locations, data<const float>(loop, 1) + first, data<const uint8_t>(loop, 2) + first};
      const float* const x = data<const float>(loop, 3) + at;
      float* const dx = data<float>(loop, 0) + at;
      const int64_t whole = width / kColumnGroup * kColumnGroup;
      (nontemporal ? pool_backward_columns<true> : pool_backward_columns<false>)(g, x, dx, n, channels, whole, s,
                                                                                 training);
      if (whole == width) continue;
      const PoolGradient rest{locations, g.dy + whole, g.chosen + whole};
      pool_backward(rest, x + whole, dx + whole, n, channels, width - whole, s, whole, training);
    }
    if (nontemporal) nontemporal_fence();
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_DISPATCH_TABLE(norm_relu_pool, norm_relu_pool_body)
TANDEM_DISPATCH_TABLE(norm_relu_pool_gradient_sums, norm_relu_pool_gradient_sums_body)
TANDEM_DISPATCH_TABLE(norm_relu_pool_backward, norm_relu_pool_backward_body)
