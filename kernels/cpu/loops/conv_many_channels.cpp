// Convolutions of channels-last images with many channels: forward, and the gradients of input and weights. For each
// row of the kernel, the inputs of an output pixel (the kernel's columns and their channels) are contiguous in x. So
// all three passes are matrix products that read their rows in place: rows of y, or overlapping rows of x. Only the
// weights are packed.
#include "tandem/kernels/cpu/loops/conv_image.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX2__)
#if defined(__AVX512F__)
// Sizes of tiles that fill the vector registers. Forward: kTilePixels pixels and kMaxTileVectors vectors of filters.
// Gradient of the input: kInputTilePixels pixels and kMaxInputVectors vectors of taps. Gradient of the weights:
// kTileFilters filters and kMaxTapVectors vectors of taps.
constexpr int kTilePixels = 6, kMaxTileVectors = 4, kInputTilePixels = 4, kMaxInputVectors = 6, kTileFilters = 8,
              kMaxTapVectors = 3;
#else
constexpr int kTilePixels = 6, kMaxTileVectors = 2, kInputTilePixels = 4, kMaxInputVectors = 3, kTileFilters = 4,
              kMaxTapVectors = 3;
#endif

/// Iterates over the pixels of y, row by row and image by image, and returns the offset in x of each pixel's first
/// input.
class PixelIterator {
 public:
  PixelIterator(const ConvImage& s, int64_t plane) : s_(s), plane_(plane) {}
  /// Returns the offset of the next pixel's first input. `pixels` is the total number of pixels. After the last pixel,
  /// returns the last offset again.
  TANDEM_NOINLINE int64_t next(int64_t pixels) {
    const int64_t at = image_index_ * plane_ + row_ * s_.stride_h * s_.padded_row_numel() + column_ * s_.pixel_stride();
    if (++num_pixels_done_ >= pixels) return at;
    if (++column_ == s_.ow) {
      column_ = 0;
      ++row_;
    }
    if (row_ == s_.oh) {
      row_ = 0;
      ++image_index_;
    }
    return at;
  }

 private:
  const ConvImage& s_;
  int64_t plane_, image_index_ = 0, row_ = 0, column_ = 0, num_pixels_done_ = 0;
};

/// Computes kTilePixels pixels of y for kVectors vectors of filters, and stores the first `count` pixels. `weights`:
/// (kernel_h, taps, filters).
template <int kVectors>
TANDEM_NOINLINE void compute_tile(const ConvImage& s, const float* const* from, const float* weights, const float* bias,
                                  float* y, int64_t count) {
  const float* x[kTilePixels];
  V sum[kTilePixels][kVectors];
#pragma GCC unroll 8
  for (int p = 0; p < kTilePixels; ++p) {
    x[p] = from[p];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[p][v] = bias ? load(bias + v * kVectorFloats) : V{};
  }
  for (int64_t r = 0; r < s.kernel_h; ++r) {
    for (int64_t t = 0; t < s.taps; ++t, weights += s.filters) {
      V weight[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) weight[v] = load(weights + v * kVectorFloats);
#pragma GCC unroll 8
      for (int p = 0; p < kTilePixels; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[p][v] += x[p][t] * weight[v];
    }
#pragma GCC unroll 8
    for (int p = 0; p < kTilePixels; ++p) x[p] += s.padded_row_numel();
  }
#pragma GCC unroll 8
  for (int p = 0; p < kTilePixels; ++p)
    if (p < count)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(y + p * s.filters + v * kVectorFloats, sum[p][v]);
}
/// Returns the number of vectors in the next tile if `left` vectors remain, so that the tiles are about equally wide.
int64_t next_tile_vectors(int64_t left, int64_t most) { return left >= most ? most : left > 3 ? (left + 1) / 2 : left; }
/// Computes y for `images` images without padding. Operands: y, x, weights (kernel_h, taps, filters), bias or none.
void conv_many_channels_body(const Loop& loop, int64_t, int64_t images) {
  const ConvImage s(loop);
  const float *const x = data<const float>(loop, 1), *const weights = data<const float>(loop, 2),
                     *const bias = data<const float>(loop, 3);
  const int64_t pixels = images * s.oh * s.ow;
  constexpr int kThree = kMaxTileVectors < 3 ? kMaxTileVectors : 3;
  for (int64_t f = 0, vectors; f < s.filters; f += vectors * kVectorFloats) {
    vectors = next_tile_vectors((s.filters - f) / kVectorFloats, kMaxTileVectors);
    const auto compute = vectors == kMaxTileVectors ? compute_tile<kMaxTileVectors>
                         : vectors == 3             ? compute_tile<kThree>
                         : vectors == 2             ? compute_tile<2>
                                                    : compute_tile<1>;
    PixelIterator walk(s, s.image_numel());
    for (int64_t q = 0; q < pixels; q += kTilePixels) {
      const float* from[kTilePixels];
      for (int p = 0; p < kTilePixels; ++p) from[p] = x + walk.next(pixels);
      compute(s, from, weights + f, bias ? bias + f : nullptr, data<float>(loop, 0) + q * s.filters + f, pixels - q);
    }
  }
}

/// Adds to dx the contribution of kInputTilePixels pixels of dy through kVectors vectors of taps in one row of the
/// kernel. Only the first `count` of these pixels exist. `weights`: (filters, kernel_h, taps).
template <int kVectors>
TANDEM_NOINLINE void add_input_tile(const ConvImage& s, const float* const* from, const float* weights,
                                    float* const* to, int64_t count) {
  const float* dy[kInputTilePixels];
#pragma GCC unroll 4
  for (int p = 0; p < kInputTilePixels; ++p) dy[p] = from[p];
  V sum[kInputTilePixels][kVectors] = {};
  for (int64_t f = 0; f < s.filters; ++f, weights += s.kernel_h * s.taps) {
    V weight[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) weight[v] = load(weights + v * kVectorFloats);
#pragma GCC unroll 4
    for (int p = 0; p < kInputTilePixels; ++p)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[p][v] += dy[p][f] * weight[v];
  }
#pragma GCC unroll 4
  for (int p = 0; p < kInputTilePixels; ++p)
    if (p < count)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) store(to[p] + v * kVectorFloats, load(to[p] + v * kVectorFloats) + sum[p][v]);
}
/// Computes dx for `images` images. Operands: dx, dy, weights (filters, kernel_h, taps), scratch for a padded image.
void conv_many_channels_input_body(const Loop& loop, int64_t, int64_t images) {
  const ConvImage s(loop);
  float *const dx = data<float>(loop, 0), *const scratch = data<float>(loop, 3);
  const float *const dy = data<const float>(loop, 1), *const weights = data<const float>(loop, 2);
  const int64_t plane = s.padded_image_numel(), pixels = s.oh * s.ow;
  for (int64_t n = 0; n < images; ++n) {
    float* const made = s.is_padded() ? scratch : dx + n * plane;
    __builtin_memset(made, 0, uint64_t(plane) * sizeof(float));
    for (int64_t r = 0; r < s.kernel_h; ++r)
      for (int64_t t = 0, vectors; t < s.taps; t += vectors * kVectorFloats) {
        vectors = next_tile_vectors((s.taps - t) / kVectorFloats, kMaxInputVectors);
        const auto add_input = vectors == kMaxInputVectors ? add_input_tile<kMaxInputVectors>
                               : vectors == 3              ? add_input_tile<3>
                               : vectors == 2              ? add_input_tile<2>
                                                           : add_input_tile<1>;
        PixelIterator walk(s, plane);
        for (int64_t q = 0; q < pixels; q += kInputTilePixels) {
          const float* from[kInputTilePixels];
          float* to[kInputTilePixels];
          for (int p = 0; p < kInputTilePixels; ++p) {
            from[p] = dy + (n * pixels + (q + p < pixels ? q + p : pixels - 1)) * s.filters;
            to[p] = made + r * s.padded_row_numel() + t + walk.next(pixels);
          }
          add_input(s, from, weights + r * s.taps + t, to, pixels - q);
        }
      }
    for (int64_t row = 0; s.is_padded() && row < s.h; ++row)
      __builtin_memcpy(dx + n * s.image_numel() + row * s.w * s.channels,
                       scratch + (row + s.pad_top) * s.padded_row_numel() + s.pad_left * s.channels,
                       uint64_t(s.w * s.channels) * sizeof(float));
  }
}

/// Adds the contribution of one image to the weight gradients of kTileFilters filters and kVectors vectors of taps. The
/// sums of consecutive filters are `filter_stride` elements apart.
template <int kVectors>
TANDEM_NOINLINE void add_weight_tile(const ConvImage& s, const float* x, const float* dy, float* sums,
                                     int64_t filter_stride) {
  V sum[kTileFilters][kVectors];
#pragma GCC unroll 8
  for (int f = 0; f < kTileFilters; ++f)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[f][v] = load(sums + f * filter_stride + v * kVectorFloats);
  const int64_t pixel_stride = s.pixel_stride();
  for (int64_t r = 0; r < s.oh; ++r, x += s.stride_h * s.padded_row_numel()) {
    const float* from = x;
    for (int64_t c = 0; c < s.ow; ++c, from += pixel_stride, dy += s.filters) {
      V tap[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) tap[v] = load(from + v * kVectorFloats);
#pragma GCC unroll 8
      for (int f = 0; f < kTileFilters; ++f)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[f][v] += dy[f] * tap[v];
    }
  }
#pragma GCC unroll 8
  for (int f = 0; f < kTileFilters; ++f)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(sums + f * filter_stride + v * kVectorFloats, sum[f][v]);
}
/// Computes the gradient of the weights over all `images` images. Operands: sums for the weights (filters, kernel_h,
/// taps), followed by the sums of dy (gradient of the bias) if scalar 10 is not 0; x; dy; scratch for a padded image.
void conv_many_channels_weights_body(const Loop& loop, int64_t, int64_t images) {
  const ConvImage s(loop);
  const int64_t filter_stride = s.kernel_h * s.taps, pixels = s.oh * s.ow;
  const bool has_bias = loop.scalars[10].integer != 0;
  float *const sums = data<float>(loop, 0), *const scratch = data<float>(loop, 3),
               *const bias = sums + filter_stride * s.filters;
  __builtin_memset(sums, 0, uint64_t(filter_stride * s.filters + (has_bias ? s.filters : 0)) * sizeof(float));
  if (s.is_padded()) __builtin_memset(scratch, 0, uint64_t(s.padded_image_numel()) * sizeof(float));
  for (int64_t n = 0; n < images; ++n) {
    const float* const x = s.image(data<const float>(loop, 1), n, scratch);
    const float* const dy = data<const float>(loop, 2) + n * pixels * s.filters;
    for (int64_t f = 0; f < s.filters; f += kTileFilters)
      for (int64_t r = 0; r < s.kernel_h; ++r)
        for (int64_t t = 0, vectors; t < s.taps; t += vectors * kVectorFloats) {
          vectors = next_tile_vectors((s.taps - t) / kVectorFloats, kMaxTapVectors);
          const auto add = vectors == 3 ? add_weight_tile<3> : vectors == 2 ? add_weight_tile<2> : add_weight_tile<1>;
          add(s, x + r * s.padded_row_numel() + t, dy + f, sums + f * filter_stride + r * s.taps + t, filter_stride);
        }
    for (int64_t f = 0; has_bias && f < s.filters; f += kVectorFloats) {
      V sum = load(bias + f);
      for (int64_t q = 0; q < pixels; ++q) sum += load(dy + q * s.filters + f);
      store(bias + f, sum);
    }
  }
}
#endif

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#if defined(__AVX2__)
TANDEM_DISPATCH_TABLE(conv_many_channels, conv_many_channels_body)
TANDEM_DISPATCH_TABLE(conv_many_channels_input, conv_many_channels_input_body)
TANDEM_DISPATCH_TABLE(conv_many_channels_weights, conv_many_channels_weights_body)
#else
TANDEM_DISPATCH_TABLE(conv_many_channels, nullptr)
TANDEM_DISPATCH_TABLE(conv_many_channels_input, nullptr)
TANDEM_DISPATCH_TABLE(conv_many_channels_weights, nullptr)
#endif
