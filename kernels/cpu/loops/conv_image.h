// Helpers for the convolutions of channels-last images: geometry, and images with padding. Only files of loops/ include
// this header.
#pragma once
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX2__)  // with shorter vectors these loops would be slower than a library
constexpr int kVectorFloats = kLaneBytes / int(sizeof(float));
using V = LaneVector<float, kLaneBytes>;
TANDEM_HD V load(const float* x) { return load_lanes<float, kLaneBytes>(x); }
TANDEM_HD void store(float* to, V v) { *reinterpret_cast<V*>(to) = v; }

/// Geometry of a convolution: scalars 0 to 9 of the loop, in this order, and sizes derived from them.
struct ConvImage {
  int64_t channels, h, w, filters, kernel_h, kernel_w, pad_top, pad_left, stride_h, stride_w;
  // padded_height, padded_width: size of x with its padding. oh, ow: size of y. taps: number of inputs per row of the
  // kernel, kernel_w * channels.
  int64_t padded_height, padded_width, oh, ow, taps;
  explicit ConvImage(const Loop& loop) {
    const LoopScalar* const v = loop.scalars;
    channels = v[0].integer;
    h = v[1].integer;
    w = v[2].integer;
    filters = v[3].integer;
    kernel_h = v[4].integer;
    kernel_w = v[5].integer;
    pad_top = v[6].integer;
    pad_left = v[7].integer;
    stride_h = v[8].integer;
    stride_w = v[9].integer;
    padded_height = h + 2 * pad_top;
    padded_width = w + 2 * pad_left;
    oh = (padded_height - kernel_h) / stride_h + 1;
    ow = (padded_width - kernel_w) / stride_w + 1;
    taps = kernel_w * channels;
  }
  bool is_padded() const { return pad_top > 0 || pad_left > 0; }
  /// pixel_stride(): number of elements of x between the inputs of adjacent pixels of y. padded_row_numel(): number of
  /// elements in a row of x with its padding.
  int64_t pixel_stride() const { return stride_w * channels; }
  int64_t padded_row_numel() const { return padded_width * channels; }
  /// image_numel() and padded_image_numel(): number of elements of one image of x, without and with padding.
  int64_t image_numel() const { return h * w * channels; }
  int64_t padded_image_numel() const { return padded_height * padded_row_numel(); }
  /// Returns image n with its padding: a pointer into x if there is no padding, otherwise a copy in `scratch`, whose
  /// border holds zeros.
  const float* image(const float* x, int64_t n, float* scratch) const {
    x += n * image_numel();
    if (!is_padded()) return x;
    for (int64_t r = 0; r < h; ++r)
      __builtin_memcpy(scratch + (r + pad_top) * padded_row_numel() + pad_left * channels, x + r * w * channels,
                       uint64_t(w * channels) * sizeof(float));
    return scratch;
  }
};
#endif

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
