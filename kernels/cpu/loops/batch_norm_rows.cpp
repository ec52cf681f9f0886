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
/// totals[c] = sum of f(i, c) for i < n, as column_sums has it, with as many lanes whatever n is.
template <class T, class F> void block_sums(int64_t n, int64_t width, double* totals, F f) {
  T lane[kLanes][kColumns];
  for (auto& each : lane)
    for (T& value : each) value = T(0);
  for (int64_t i = 0; i < n; ++i) {
    T* const to = lane[i % kLanes];
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) to[c] += f(i, c);
  }
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k)
      for (int64_t c = 0; c < width; ++c) lane[k][c] += lane[k + half][c];
  for (int64_t c = 0; c < width; ++c) totals[c] = double(lane[0][c]);
}

/// Operands: double sums (blocks, channels) of x, or of squares of what it differs from a center; x, center or none.
template <class T> void sums_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t channels = loop.scalars[1].integer;
  for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    const T* const x = data<const T>(loop, 1) + at;
    double* const to = data<double>(loop, 0) + at / channels / kFold * channels + c;
    const C* const center = data<const C>(loop, 2);
    if (!center) return block_sums<C>(n, width, to, [=](int64_t i, int64_t k) { return C(x[i * channels + k]); });
    block_sums<C>(n, width, to, [=, from = center + c](int64_t i, int64_t k) {
      const C off = C(x[i * channels + k]) - from[k];
      return off * off;
    });
  });
}
/// Operands: double sums (blocks, channels) of dy, and of dy (x - mean); dy, x, mean.
template <class T> void slope_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t channels = loop.scalars[1].integer;
  for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    const T *const dy = data<const T>(loop, 2) + at, *const x = data<const T>(loop, 3) + at;
    const C* const mean = data<const C>(loop, 4) + c;
    const int64_t to = at / channels / kFold * channels + c;
    block_sums<C>(n, width, data<double>(loop, 0) + to, [=](int64_t i, int64_t k) { return C(dy[i * channels + k]); });
    block_sums<C>(n, width, data<double>(loop, 1) + to,
                  [=](int64_t i, int64_t k) { return C(dy[i * channels + k]) * (C(x[i * channels + k]) - mean[k]); });
  });
}

constexpr int64_t kChannels = 256;  // whose factors are kept beside the processor
/// Calls f(first channel, channels) for groups of kChannels.
template <class F> void for_channels(const Loop& loop, F f) {
  const int64_t channels = loop.scalars[1].integer;
  for (int64_t c = 0; c < channels; c += kChannels) f(c, channels - c < kChannels ? channels - c : kChannels);
}
/// Operands: y, x, mean, rstd, weight or none, bias or none. A unit is one row.
template <class T> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t channels = loop.scalars[1].integer;
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for_channels(loop, [&](int64_t first, int64_t count) {
    C scale[kChannels], shift[kChannels];
    for (int64_t c = 0; c < count; ++c) {
      scale[c] = data<const C>(loop, 3)[first + c] * (weight ? weight[first + c] : C(1));
      shift[c] = (bias ? bias[first + c] : C(0)) - data<const C>(loop, 2)[first + c] * scale[c];
    }
    for (int64_t row = begin; row < end; ++row) {
      T* const y = data<T>(loop, 0) + row * channels + first;
      const T* const x = data<const T>(loop, 1) + row * channels + first;
      TANDEM_IVDEP
      for (int64_t c = 0; c < count; ++c) y[c] = T(C(x[c]) * scale[c] + shift[c]);
    }
  });
}
/// Operands: dx, dy, x, mean, rstd, weight or none, double sums (2, channels) of dy and of dy (x - mean). Scalar 2:
/// whether in training mode. A unit is one row.
template <class T> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t channels = loop.scalars[1].integer;
  const double rows = double(loop.scalars[0].integer);
  const bool training = loop.scalars[2].integer;
  const C* const weight = data<const C>(loop, 5);
  for_channels(loop, [&](int64_t first, int64_t count) {
    C scale[kChannels], mean[kChannels], from_mean[kChannels], from_var[kChannels];
    for (int64_t c = 0; c < count; ++c) {
      const C rstd = data<const C>(loop, 4)[first + c];
      const double* const sums = data<const double>(loop, 6) + first + c;
      scale[c] = rstd * (weight ? weight[first + c] : C(1));
      mean[c] = data<const C>(loop, 3)[first + c];
      from_mean[c] = C(sums[0] / rows);
      from_var[c] = C(sums[channels] * double(rstd) / rows) * rstd;
    }
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * channels + first;
      T* const dx = data<T>(loop, 0) + at;
      const T *const dy = data<const T>(loop, 1) + at, *const x = data<const T>(loop, 2) + at;
      if (!training) {  // x has no part in it, nor has a NaN in x
        TANDEM_IVDEP
        for (int64_t c = 0; c < count; ++c) dx[c] = T(scale[c] * C(dy[c]));
        continue;
      }
      TANDEM_IVDEP
      for (int64_t c = 0; c < count; ++c)
        dx[c] = T(scale[c] * (C(dy[c]) - from_mean[c] - (C(x[c]) - mean[c]) * from_var[c]));
    }
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(batch_norm_row_sums, sums_body)
TANDEM_EACH_FLOATING(batch_norm_row_slope_sums, slope_sums_body)
TANDEM_EACH_FLOATING(batch_norm_apply_rows, apply_body)
TANDEM_EACH_FLOATING(batch_norm_backward_rows, backward_body)
