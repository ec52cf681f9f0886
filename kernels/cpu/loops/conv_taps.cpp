// The weights' gradients of convolutions with few channels. The sum of a weight goes over all windows, so windows lie
// side by side in a vector, and what a weight of a row of the kernel meets is one pixel from what the next one meets.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX2__)
constexpr int kBytes = 32, kWidth = kBytes / int(sizeof(float));
using V = LaneVector<float, kBytes>;
/// How many filters' sums, beside a row of the kernel, the registers hold.
#if defined(__AVX512F__)
constexpr int filters_of(int taps) { return taps == 3 ? 4 : 5; }
#else
constexpr int filters_of(int taps) { return taps == 3 ? 4 : 2; }
#endif
struct Sum {
  template <class A> TANDEM_HD static A join(A a, A b) { return a + b; }
};
struct Sizes {
  int64_t width, out_height, out_width, kernel_height;
};
/// For `kFilters` filters, whose planes of dy and whose sums lie one behind the other: sums += what the kernel's row
/// meets, of which the first pixel is x's.
template <int kFilters, int kTaps>
TANDEM_ONE_COPY void add_row(const Sizes& s, const float* x, const float* dy, float* sums) {
  const int64_t plane = s.out_height * s.out_width, filter = s.kernel_height * kTaps * kWidth;
  V sum[kFilters][kTaps];
  for (int f = 0; f < kFilters; ++f)
    for (int k = 0; k < kTaps; ++k) sum[f][k] = load_lanes<float, kBytes>(sums + f * filter + k * kWidth);
  for (int64_t r = 0; r < s.out_height; ++r, x += s.width, dy += s.out_width) {
    const auto add = [&](int64_t at, auto clear) {
      V pixels[kTaps];
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) pixels[k] = clear(load_lanes<float, kBytes>(x + at + k));
#pragma GCC unroll 8
      for (int f = 0; f < kFilters; ++f) {
        const V slope = clear(load_lanes<float, kBytes>(dy + f * plane + at));
#pragma GCC unroll 8
        for (int k = 0; k < kTaps; ++k) sum[f][k] += slope * pixels[k];
      }
    };
    int64_t i = 0;
    for (; i + kWidth <= s.out_width; i += kWidth) add(i, [](V v) { return v; });
    const int64_t again = (i + kWidth - s.out_width) * int64_t(sizeof(float));  // bytes that were added before
    if (i < s.out_width) add(s.out_width - kWidth, [=](V v) { return with_first<float, kBytes>(v, V{}, again); });
  }
  for (int f = 0; f < kFilters; ++f)
    for (int k = 0; k < kTaps; ++k) *reinterpret_cast<V*>(sums + f * filter + k * kWidth) = sum[f][k];
}
/// Operands: dw, x, dy, and room for a plane of x with its padding and for kWidth sums of each weight of a channel.
/// Scalars: channels, height and width of x, filters, height and width of the kernel, padding as a pair. The range is
/// images, all of them one part.
void conv_taps_body(const Loop& loop, int64_t, int64_t images) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t channels = number(0), h = number(1), w = number(2), filters = number(3), taps = number(5);
  const int64_t top = number(6), left = number(7), wide = w + 2 * left, high = h + 2 * top;
  const Sizes s{wide, high - number(4) + 1, wide - taps + 1, number(4)};
  const bool padded = top > 0 || left > 0;
  const int64_t plane = s.out_height * s.out_width, weights = s.kernel_height * taps, held = filters * weights * kWidth;
  const int64_t together = taps == 3 ? filters_of(3) : filters_of(5);
  const auto add_many = taps == 3 ? add_row<filters_of(3), 3> : add_row<filters_of(5), 5>;
  const auto add_one = taps == 3 ? add_row<1, 3> : add_row<1, 5>;
  float *const dw = data<float>(loop, 0), *const sums = data<float>(loop, 3), *const room = sums + held;
  __builtin_memset(room, 0, uint64_t(high * wide) * sizeof(float));
  for (int64_t c = 0; c < channels; ++c) {
    __builtin_memset(sums, 0, uint64_t(held) * sizeof(float));
    for (int64_t n = 0; n < images; ++n) {
      const float* x = data<const float>(loop, 1) + (n * channels + c) * h * w;
      for (int64_t r = 0; padded && r < h; ++r)
        __builtin_memcpy(room + (r + top) * wide + left, x + r * w, uint64_t(w) * sizeof(float));
      if (padded) x = room;
      const float* const dy = data<const float>(loop, 2) + n * filters * plane;
      for (int64_t row = 0; row < s.kernel_height; ++row)
        for (int64_t f = 0; f < filters;) {
          const bool many = filters - f >= together;
          (many ? add_many : add_one)(s, x + row * wide, dy + f * plane, sums + (f * weights + row * taps) * kWidth);
          f += many ? together : 1;
        }
    }
    for (int64_t f = 0; f < filters; ++f)
      for (int64_t k = 0; k < weights; ++k)
        dw[(f * channels + c) * weights + k] =
            fold_vector<Sum, float, kBytes>(load_lanes<float, kBytes>(sums + (f * weights + k) * kWidth));
  }
}
#endif

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#if defined(__AVX2__)
TANDEM_ROW(conv_taps, conv_taps_body)
#else
TANDEM_ROW(conv_taps, nullptr)  // shorter vectors would be slower than the library
#endif
