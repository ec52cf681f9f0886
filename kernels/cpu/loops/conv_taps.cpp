// Row-major convolutions with few channels: forward, and the gradient of the weights. A vector holds adjacent pixels of
// the output. Each weight is multiplied by the adjacent input pixels that these output pixels read; for the next weight
// in the kernel's row, the input pixels are shifted by one.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX2__)
constexpr int kVectorBytes = 32, kVectorFloats = kVectorBytes / int(sizeof(float));
using V = LaneVector<float, kVectorBytes>;
/// Maximum number of filters whose sums for a row of the kernel fit into registers.
#if defined(__AVX512F__)
constexpr int max_filters(int taps) { return taps == 3 ? 4 : 5; }
#else
constexpr int max_filters(int taps) { return taps == 3 ? 4 : 2; }
#endif
struct Sum {
  template <class A> TANDEM_HD static A combine(A a, A b) { return a + b; }
};
struct RowSizes {
  int64_t width, out_height, out_width, kernel_height;
};
/// Number of images, and the distances (in elements) from one image to the next in x and in dy.
struct ImageStrides {
  int64_t count, x, dy;
};
/// Adds to `sums` the products of dy and x over all images, for kFilters filters and one row of the kernel. Planes of
/// dy, and sums of consecutive filters, are contiguous. x points to the first pixel that this row of the kernel reads.
template <int kFilters, int kTaps>
TANDEM_NOINLINE void accumulate_weight_row(const RowSizes& s, const ImageStrides& images, const float* x,
                                           const float* dy, float* sums) {
  const int64_t plane = s.out_height * s.out_width, filter = s.kernel_height * kTaps * kVectorFloats;
  const int64_t rest = s.out_width % kVectorFloats,
                again = (kVectorFloats - rest) * int64_t(sizeof(float));  // bytes already added
  V sum[kFilters][kTaps];
  for (int f = 0; f < kFilters; ++f)
    for (int k = 0; k < kTaps; ++k) sum[f][k] = load_lanes<float, kVectorBytes>(sums + f * filter + k * kVectorFloats);
  for (int64_t n = 0; n < images.count; ++n) {
    const float *from = x + n * images.x, *gradients = dy + n * images.dy;
    for (int64_t r = 0; r < s.out_height; ++r, from += s.width, gradients += s.out_width) {
      const auto add = [&](int64_t at, auto clear) {
        V pixels[kTaps];
#pragma GCC unroll 8
        for (int k = 0; k < kTaps; ++k) pixels[k] = clear(load_lanes<float, kVectorBytes>(from + at + k));
#pragma GCC unroll 8
        for (int f = 0; f < kFilters; ++f) {
          const V gradient = clear(load_lanes<float, kVectorBytes>(gradients + f * plane + at));
#pragma GCC unroll 8
          for (int k = 0; k < kTaps; ++k) sum[f][k] += gradient * pixels[k];
        }
      };
      for (int64_t i = 0; i + kVectorFloats <= s.out_width; i += kVectorFloats) add(i, [](V v) { return v; });
      if (rest > 0)
        add(s.out_width - kVectorFloats, [=](V v) { return replace_first_bytes<float, kVectorBytes>(v, V{}, again); });
    }
  }
  for (int f = 0; f < kFilters; ++f)
    for (int k = 0; k < kTaps; ++k) *reinterpret_cast<V*>(sums + f * filter + k * kVectorFloats) = sum[f][k];
}

/// Sizes for the forward loop and for the loop that computes the weights' gradient. Scalars of both loops: channels,
/// height and width of x, number of filters, height and width of the kernel, padding (rows, columns).
struct ConvGeometry {
  int64_t channels, h, w, filters, taps, pad_top, pad_left, padded_width, padded_height;
  RowSizes sizes;
  explicit ConvGeometry(const Loop& loop) {
    const auto number = [&](int i) { return loop.scalars[i].integer; };
    channels = number(0);
    h = number(1);
    w = number(2);
    filters = number(3);
    taps = number(5);
    pad_top = number(6);
    pad_left = number(7);
    padded_width = w + 2 * pad_left;
    padded_height = h + 2 * pad_top;
    sizes = {padded_width, padded_height - number(4) + 1, padded_width - taps + 1, number(4)};
  }
  bool is_padded() const { return pad_top > 0 || pad_left > 0; }
  int64_t plane() const { return sizes.out_height * sizes.out_width; }
  /// Copies a plane of x into the middle of a padded plane.
  void pad(const float* x, float* scratch) const {
    for (int64_t r = 0; r < h; ++r)
      __builtin_memcpy(scratch + (r + pad_top) * padded_width + pad_left, x + r * w, uint64_t(w) * sizeof(float));
  }
};
/// Offsets of up to four vectors in a plane of y, and of the first pixels of their windows in a plane of x.
struct VectorOffsets {
  int64_t x[4], y[4];
};
/// Computes kVectors vectors of pixels in kFilters planes of y. `weights` and `bias` point to the first of these
/// filters.
template <int kFilters, int kVectors>
TANDEM_NOINLINE void compute_vectors(const ConvGeometry& p, const VectorOffsets& at, const float* x, int64_t x_plane,
                                     const float* weights, const float* bias, float* y) {
  const int64_t filter = p.channels * p.sizes.kernel_height * p.taps;
  V sum[kFilters][kVectors];
#pragma GCC unroll 8
  for (int f = 0; f < kFilters; ++f)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[f][v] = V{} + (bias ? bias[f] : 0.0F);
  for (int64_t c = 0; c < p.channels; ++c)
    for (int64_t row = 0; row < p.sizes.kernel_height; ++row)
      for (int64_t k = 0; k < p.taps; ++k, ++weights) {
        const float* const from = x + c * x_plane + row * p.padded_width + k;
        V pixels[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) pixels[v] = load_lanes<float, kVectorBytes>(from + at.x[v]);
#pragma GCC unroll 8
        for (int f = 0; f < kFilters; ++f)
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sum[f][v] += weights[f * filter] * pixels[v];
      }
#pragma GCC unroll 8
  for (int f = 0; f < kFilters; ++f)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<V*>(y + f * p.plane() + at.y[v]) = sum[f][v];
}
/// Computes the output planes of kFilters filters. The last vector of a row overlaps the previous vector.
template <int kFilters>
void compute_planes(const ConvGeometry& p, const float* x, int64_t x_plane, const float* weights, const float* bias,
                    float* y) {
  const int64_t width = p.sizes.out_width, in_row = (width + kVectorFloats - 1) / kVectorFloats;
  int64_t row = 0, column = 0;
  for (int64_t left = p.sizes.out_height * in_row; left > 0; left -= 4) {
    VectorOffsets at;
    for (int v = 0; v < 4 && v < left; ++v) {
      const int64_t first =
          column * kVectorFloats < width - kVectorFloats ? column * kVectorFloats : width - kVectorFloats;
      at.x[v] = row * p.padded_width + first;
      at.y[v] = row * width + first;
      if (++column == in_row) {
        column = 0;
        ++row;
      }
    }
    const auto compute = left >= 4   ? compute_vectors<kFilters, 4>
                         : left == 3 ? compute_vectors<kFilters, 3>
                         : left == 2 ? compute_vectors<kFilters, 2>
                                     : compute_vectors<kFilters, 1>;
    compute(p, at, x, x_plane, weights, bias, y);
  }
}
/// Computes y for images [begin, end). Operands: y, x, weights, bias or none, and scratch for the padded planes of an
/// image.
void conv_taps_forward_body(const Loop& loop, int64_t begin, int64_t end) {
#if defined(__AVX512F__)
  constexpr int kMaxFilters = 4;  // maximum number of filters whose sums fit into registers
#else
  constexpr int kMaxFilters = 2;
#endif
  const ConvGeometry p(loop);
  const int64_t filter = p.channels * p.sizes.kernel_height * p.taps;
  const int64_t x_plane = p.is_padded() ? p.padded_height * p.padded_width : p.h * p.w;
  const float *const weights = data<const float>(loop, 2), *const bias = data<const float>(loop, 3);
  float* const scratch = data<float>(loop, 4);
  if (p.is_padded()) __builtin_memset(scratch, 0, uint64_t(p.channels * x_plane) * sizeof(float));
  for (int64_t n = begin; n < end; ++n) {
    const float* x = data<const float>(loop, 1) + n * p.channels * p.h * p.w;
    for (int64_t c = 0; p.is_padded() && c < p.channels; ++c) p.pad(x + c * p.h * p.w, scratch + c * x_plane);
    if (p.is_padded()) x = scratch;
    for (int64_t f = 0; f < p.filters;) {
      const int64_t left = p.filters - f, count = left >= kMaxFilters ? kMaxFilters : left >= 2 ? 2 : 1;
      const auto compute = count == kMaxFilters ? compute_planes<kMaxFilters>
                           : count == 2         ? compute_planes<2>
                                                : compute_planes<1>;
      compute(p, x, x_plane, weights + f * filter, bias ? bias + f : bias,
              data<float>(loop, 0) + (n * p.filters + f) * p.plane());
      f += count;
    }
  }
}

/// Computes dw over all `count` images. Operands: dw, x, dy, and scratch: kVectorFloats partial sums for each weight of
/// one channel, followed by the padded planes of one channel for all images.
void conv_taps_body(const Loop& loop, int64_t, int64_t count) {
  const ConvGeometry p(loop);
  const RowSizes& s = p.sizes;
  const int64_t plane = p.plane(), weights = s.kernel_height * p.taps, held = p.filters * weights * kVectorFloats;
  const int64_t together = p.taps == 3 ? max_filters(3) : max_filters(5), is_padded = p.padded_height * p.padded_width;
  const auto add_many =
      p.taps == 3 ? accumulate_weight_row<max_filters(3), 3> : accumulate_weight_row<max_filters(5), 5>;
  const auto add_one = p.taps == 3 ? accumulate_weight_row<1, 3> : accumulate_weight_row<1, 5>;
  const ImageStrides images{count, p.is_padded() ? is_padded : p.channels * p.h * p.w, p.filters * plane};
  const float* const dy = data<const float>(loop, 2);
  float *const dw = data<float>(loop, 0), *const sums = data<float>(loop, 3), *const scratch = sums + held;
  if (p.is_padded()) __builtin_memset(scratch, 0, uint64_t(count * is_padded) * sizeof(float));
  for (int64_t c = 0; c < p.channels; ++c) {
    const float* x = data<const float>(loop, 1) + c * p.h * p.w;
    for (int64_t n = 0; p.is_padded() && n < count; ++n) p.pad(x + n * p.channels * p.h * p.w, scratch + n * is_padded);
    if (p.is_padded()) x = scratch;
    __builtin_memset(sums, 0, uint64_t(held) * sizeof(float));
    for (int64_t row = 0; row < s.kernel_height; ++row)
      for (int64_t f = 0; f < p.filters;) {
        const bool many = p.filters - f >= together;
        (many ? add_many : add_one)(s, images, x + row * p.padded_width, dy + f * plane,
                                    sums + (f * weights + row * p.taps) * kVectorFloats);
        f += many ? together : 1;
      }
    for (int64_t f = 0; f < p.filters; ++f)
      for (int64_t k = 0; k < weights; ++k)
        dw[(f * p.channels + c) * weights + k] = reduce_vector<Sum, float, kVectorBytes>(
            load_lanes<float, kVectorBytes>(sums + (f * weights + k) * kVectorFloats));
  }
}
#endif

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#if defined(__AVX2__)
TANDEM_DISPATCH_TABLE(conv_taps, conv_taps_body)
TANDEM_DISPATCH_TABLE(conv_taps_forward, conv_taps_forward_body)
#else
TANDEM_DISPATCH_TABLE(conv_taps,
                      nullptr)  // null without AVX2: with shorter vectors this loop would be slower than the library
TANDEM_DISPATCH_TABLE(conv_taps_forward, nullptr)
#endif
