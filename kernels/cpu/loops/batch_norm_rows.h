// Helpers for the batch-normalisation loops over rows: division into blocks of rows, and the coefficients of each
// channel.
#pragma once
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kBlockLength = 2048;

/// Calls f(offset of the first element, rows, first channel, channels) for each unit of work, which is a block of at
/// most kBlockLength rows and kColumnGroup channels. Scalars 0 and 1 of the loop: numbers of rows and channels.
template <class F> void for_row_blocks(const Loop& loop, int64_t begin, int64_t end, F f) {
  const int64_t rows = loop.scalars[0].integer, channels = loop.scalars[1].integer;
  const int64_t groups = (channels + kColumnGroup - 1) / kColumnGroup;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / groups * kBlockLength, c = unit % groups * kColumnGroup;
    f(row * channels + c, rows - row < kBlockLength ? rows - row : kBlockLength, c,
      channels - c < kColumnGroup ? channels - c : kColumnGroup);
  }
}
constexpr int64_t kChannelGroup = 256;  // number of channels whose coefficients are computed at a time

/// Coefficients from which dx is computed, for each channel of a group. The loop's operands from k on: mean, rstd,
/// weight or none, sums of dy and of dy (x - mean) as double (2, channels).
template <class C> struct BackwardFactors {
  C scale[kChannelGroup], mean[kChannelGroup], mean_term[kChannelGroup], var_term[kChannelGroup];
  BackwardFactors(const Loop& loop, int k, int64_t first, int64_t width) {
    const int64_t channels = loop.scalars[1].integer;
    const double all_rows = double(loop.scalars[0].integer);
    const C* const weight = data<const C>(loop, k + 2);
    for (int64_t c = 0; c < width; ++c) {
      TANDEM_NO_VECTORIZE
      const C rstd = data<const C>(loop, k + 1)[first + c];
      const double* const sums = data<const double>(loop, k + 3) + first + c;
      scale[c] = rstd * (weight ? weight[first + c] : C(1));
      mean[c] = data<const C>(loop, k)[first + c];
      mean_term[c] = C(sums[0] / all_rows);
      var_term[c] = C(sums[channels] * double(rstd) / all_rows) * rstd;
    }
  }
};
/// Calls f(first channel, number of channels) for groups of at most kChannelGroup channels.
template <class F> void for_channel_groups(const Loop& loop, F f) {
  const int64_t channels = loop.scalars[1].integer;
  for (int64_t c = 0; c < channels; c += kChannelGroup)
    f(c, channels - c < kChannelGroup ? channels - c : kChannelGroup);
}
/// Coefficients of y = x * scale + shift for each channel of a group. The loop's operands from k on: mean, rstd, weight
/// or none, bias or none.
template <class C> struct ForwardFactors {
  C scale[kChannelGroup], shift[kChannelGroup];
  ForwardFactors(const Loop& loop, int k, int64_t first, int64_t width) {
    const C *const weight = data<const C>(loop, k + 2), *const bias = data<const C>(loop, k + 3);
    for (int64_t c = 0; c < width; ++c) {
      TANDEM_NO_VECTORIZE
      scale[c] = data<const C>(loop, k + 1)[first + c] * (weight ? weight[first + c] : C(1));
      shift[c] = (bias ? bias[first + c] : C(0)) - data<const C>(loop, k)[first + c] * scale[c];
    }
  }
};

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
