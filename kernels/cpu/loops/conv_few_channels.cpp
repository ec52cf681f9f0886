// Convolutions of channels-last images with few channels, as in a network's first layer: forward, and the gradients of
// weights and bias. A vector holds neighbouring filters. For each row of the kernel, the inputs of an output pixel (the
// kernel's columns and their channels) are contiguous in x.
#include "tandem/kernels/cpu/loops/conv_image.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX2__)
/// Computes kPixels adjacent pixels of y for kVectors vectors of filters. `weights` is (kernel_h, taps, filters), where
/// taps = kernel columns * channels.
template <int kPixels, int kVectors>
TANDEM_HD void compute_pixels(const ConvImage& s, const float* x, const float* weights, const float* bias, float* y) {
  V sum[kPixels][kVectors];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[p][v] = bias ? load(bias + v * kVectorFloats) : V{};
  for (int64_t r = 0; r < s.kernel_h; ++r, x += s.padded_row_numel())
    for (int64_t t = 0; t < s.taps; ++t, weights += s.filters) {
      V weight[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) weight[v] = load(weights + v * kVectorFloats);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[p][v] += x[p * s.pixel_stride() + t] * weight[v];
    }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(y + p * s.filters + v * kVectorFloats, sum[p][v]);
}
/// Computes a row of y. x points to the first pixel that contributes to the row.
template <int kVectors>
TANDEM_NOINLINE void compute_row(const ConvImage& s, const float* x, const float* weights, const float* bias,
                                 float* y) {
  constexpr int kPixels = 4;
  int64_t i = 0;
  for (; i + kPixels <= s.ow; i += kPixels)
    compute_pixels<kPixels, kVectors>(s, x + i * s.pixel_stride(), weights, bias, y + i * s.filters);
  for (; i < s.ow; ++i) compute_pixels<1, kVectors>(s, x + i * s.pixel_stride(), weights, bias, y + i * s.filters);
}
/// Computes y for images [begin, end). Operands: y, x, weights, bias or none, scratch for a padded image.
void conv_few_channels_body(const Loop& loop, int64_t begin, int64_t end) {
  const ConvImage s(loop);
  const float *const weights = data<const float>(loop, 2), *const bias = data<const float>(loop, 3);
  float* const scratch = data<float>(loop, 4);
  if (s.is_padded()) __builtin_memset(scratch, 0, uint64_t(s.padded_image_numel()) * sizeof(float));
  for (int64_t n = begin; n < end; ++n) {
    const float* const x = s.image(data<const float>(loop, 1), n, scratch);
    for (int64_t row = 0; row < s.oh; ++row) {
      float* const y = data<float>(loop, 0) + (n * s.oh + row) * s.ow * s.filters;
      for (int64_t f = 0; f < s.filters; f += 2 * kVectorFloats) {
        const bool two = f + 2 * kVectorFloats <= s.filters;
        (two ? compute_row<2> : compute_row<1>)(s, x + row * s.stride_h * s.padded_row_numel(), weights + f,
                                                bias ? bias + f : bias, y + f);
      }
    }
  }
}

/// Adds the products of a row of dy with kTaps taps (adjacent inputs) to the sums of these taps. Sums of consecutive
/// taps are `filters` elements apart. If kTaps is 0, adds the row of dy itself to one sum.
template <int kTaps, int kVectors>
TANDEM_NOINLINE void accumulate_weight_row(const ConvImage& s, const float* x, const float* dy, float* sums) {
  constexpr int kSums = kTaps > 0 ? kTaps : 1;
  V sum[kSums][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kSums; ++t)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[t][v] = load(sums + t * s.filters + v * kVectorFloats);
  for (int64_t i = 0; i < s.ow; ++i, x += s.pixel_stride(), dy += s.filters)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const V gradient = load(dy + v * kVectorFloats);
#pragma GCC unroll 8
      for (int t = 0; t < kSums; ++t) sum[t][v] += kTaps > 0 ? x[t] * gradient : gradient;
    }
#pragma GCC unroll 8
  for (int t = 0; t < kSums; ++t)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(sums + t * s.filters + v * kVectorFloats, sum[t][v]);
}
constexpr int64_t kMaxTaps = 6;  // maximum number of taps whose sums fit into registers
template <int kVectors> void add_taps(int64_t taps, const ConvImage& s, const float* x, const float* dy, float* sums) {
  constexpr decltype(&accumulate_weight_row<0, kVectors>) kAdd[] = {
      accumulate_weight_row<0, kVectors>, accumulate_weight_row<1, kVectors>, accumulate_weight_row<2, kVectors>,
      accumulate_weight_row<3, kVectors>, accumulate_weight_row<4, kVectors>, accumulate_weight_row<5, kVectors>,
      accumulate_weight_row<6, kVectors>};
  kAdd[taps](s, x, dy, sums);
}
/// Computes the gradient of the weights over all `images` images. Operands: sums for the weights (kernel_h, taps,
/// filters), followed by the sums of dy (gradient of the bias) if scalar 10 is not 0; x; dy; scratch for a padded
/// image.
void conv_few_channels_weights_body(const Loop& loop, int64_t, int64_t images) {
  const ConvImage s(loop);
  const int64_t weights = s.kernel_h * s.taps * s.filters;
  const bool has_bias = loop.scalars[10].integer != 0;
  float *const sums = data<float>(loop, 0), *const scratch = data<float>(loop, 3);
  __builtin_memset(sums, 0, uint64_t(weights + (has_bias ? s.filters : 0)) * sizeof(float));
  if (s.is_padded()) __builtin_memset(scratch, 0, uint64_t(s.padded_image_numel()) * sizeof(float));
  const int64_t parts = (s.taps + kMaxTaps - 1) / kMaxTaps;
  for (int64_t n = 0; n < images; ++n) {
    const float* const x = s.image(data<const float>(loop, 1), n, scratch);
    for (int64_t row = 0; row < s.oh; ++row) {
      const float* const dy = data<const float>(loop, 2) + (n * s.oh + row) * s.ow * s.filters;
      for (int64_t f = 0; f < s.filters; f += 2 * kVectorFloats) {
        const auto add = f + 2 * kVectorFloats <= s.filters ? add_taps<2> : add_taps<1>;
        for (int64_t r = 0; r < s.kernel_h; ++r)
          for (int64_t part = 0, t = 0; part < parts; ++part) {
            const int64_t count = (s.taps - t + parts - part - 1) / (parts - part);
            add(count, s, x + (row * s.stride_h + r) * s.padded_row_numel() + t, dy + f,
                sums + (r * s.taps + t) * s.filters + f);
            t += count;
          }
        if (has_bias) add(0, s, x, dy + f, sums + weights + f);
      }
    }
  }
}
#endif

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#if defined(__AVX2__)
TANDEM_DISPATCH_TABLE(conv_few_channels, conv_few_channels_body)
TANDEM_DISPATCH_TABLE(conv_few_channels_weights, conv_few_channels_weights_body)
#else
TANDEM_DISPATCH_TABLE(conv_few_channels,
                      nullptr)  // null without AVX2: with shorter vectors this loop would be slower than the library
TANDEM_DISPATCH_TABLE(conv_few_channels_weights, nullptr)
#endif
