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
constexpr int64_t kChannels = 256;        // whose factors are kept beside the processor
constexpr int64_t kRoom = 4 * kChannels;  // elements of a half type that are widened at a time
/// How many rows of `width` elements that is. Only rows of all channels lie one behind the other.
int64_t rows_together(const Loop& loop, int64_t width) { return width == loop.scalars[1].integer ? kRoom / width : 1; }
/// Rows i < n of `width` elements, the first of them at `at`, asked for one after the other.
template <class C> class Rows {
 public:
  Rows(const Loop& loop, int k, int64_t at, int64_t n, int64_t width)
      : all_(loop, k),
        at_(at),
        n_(n),
        width_(width),
        stride_(loop.scalars[1].integer),
        together_(rows_together(loop, width)) {}
  const C* operator()(int64_t i) {
    if (!all_.is_half()) return all_.place(at_ + i * stride_, nullptr);
    const int64_t place = i % together_, left = n_ - i;
    if (place == 0) all_.read(at_ + i * stride_, (left < together_ ? left : together_) * width_, room_);
    return room_ + place * width_;
  }

 private:
  Elements<C> all_;
  int64_t at_, n_, width_, stride_, together_;
  C room_[kRoom];
};
/// totals[c] = sum of f(c) over rows i < n that read(i) brings, as column_sums has it, with as many lanes whatever n
/// is.
template <class C, class Read, class F> void block_sums(int64_t n, int64_t width, double* totals, Read read, F f) {
  C lane[kLanes][kColumns];
  for (auto& each : lane)
    for (C& value : each) value = C(0);
  for (int64_t i = 0; i < n; ++i) {
    C* const to = lane[i % kLanes];
    read(i);
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) to[c] += f(c);
  }
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k)
      for (int64_t c = 0; c < width; ++c) lane[k][c] += lane[k + half][c];
  for (int64_t c = 0; c < width; ++c) totals[c] = double(lane[0][c]);
}

/// Operands: double sums (blocks, channels) of x, or of squares of what it differs from a center; x, center or none.
template <class C> void sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    double* const to = data<double>(loop, 0) + at / channels / kFold * channels + c;
    const C* const center = data<const C>(loop, 2) ? data<const C>(loop, 2) + c : nullptr;
    Rows<C> rows(loop, 1, at, n, width);
    const C* x;
    const auto read = [&](int64_t i) { x = rows(i); };
    if (center)
      block_sums<C>(n, width, to, read, [&](int64_t k) { return (x[k] - center[k]) * (x[k] - center[k]); });
    else
      block_sums<C>(n, width, to, read, [&](int64_t k) { return x[k]; });
  });
}
/// Operands: double sums (blocks, channels) of dy, and of dy (x - mean); dy, x, mean.
template <class C> void slope_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    const C* const mean = data<const C>(loop, 4) + c;
    const int64_t to = at / channels / kFold * channels + c;
    Rows<C> dy_rows(loop, 2, at, n, width), x_rows(loop, 3, at, n, width);
    const C *dy, *x;
    const auto read_dy = [&](int64_t i) { dy = dy_rows(i); };
    const auto read = [&](int64_t i) { read_dy(i), x = x_rows(i); };
    block_sums<C>(n, width, data<double>(loop, 0) + to, read_dy, [&](int64_t k) { return dy[k]; });
    block_sums<C>(n, width, data<double>(loop, 1) + to, read, [&](int64_t k) { return dy[k] * (x[k] - mean[k]); });
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
  const Elements<C> result(loop, 0), elements(loop, 1);
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for_channels(loop, [&](int64_t first, int64_t count) {
    C scale[kChannels], shift[kChannels];
    for (int64_t c = 0; c < count; ++c) {
      scale[c] = data<const C>(loop, 3)[first + c] * (weight ? weight[first + c] : C(1));
      shift[c] = (bias ? bias[first + c] : C(0)) - data<const C>(loop, 2)[first + c] * scale[c];
    }
    const int64_t step = result.is_half() ? rows_together(loop, count) : 1;
    for (int64_t row = begin; row < end; row += step) {
      const int64_t at = row * channels + first, n = end - row < step ? end - row : step;
      C room[kRoom];
      const C* x = elements.read(at, n * count, room);
      C *const made = result.place(at, room), *y = made;
      for (int64_t r = 0; r < n; ++r, x += count, y += count) {
        TANDEM_IVDEP
        for (int64_t c = 0; c < count; ++c) y[c] = x[c] * scale[c] + shift[c];
      }
      result.write(at, n * count, made);
    }
  });
}
/// Operands: dx, dy, x, mean, rstd, weight or none, double sums (2, channels) of dy and of dy (x - mean). Scalar 2:
/// whether in training mode. A unit is one row.
template <class C> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), gradient(loop, 1), elements(loop, 2);
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
    const int64_t step = result.is_half() ? rows_together(loop, count) : 1;
    for (int64_t row = begin; row < end; row += step) {
      const int64_t at = row * channels + first, n = end - row < step ? end - row : step;
      C dy_room[kRoom], x_room[kRoom];
      const C *dy = gradient.read(at, n * count, dy_room), *x = elements.read(at, n * count, x_room);
      C *const made = result.place(at, dy_room), *dx = made;
      for (int64_t r = 0; r < n; ++r, dx += count, dy += count, x += count) {
        if (training) {
          TANDEM_IVDEP
          for (int64_t c = 0; c < count; ++c)
            dx[c] = scale[c] * (dy[c] - from_mean[c] - (x[c] - mean[c]) * from_var[c]);
        } else {  // x has no part in it, nor has a NaN in x
          TANDEM_IVDEP
          for (int64_t c = 0; c < count; ++c) dx[c] = scale[c] * dy[c];
        }
      }
      result.write(at, n * count, made);
    }
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(batch_norm_row_sums, sums_body)
TANDEM_EACH_FLOATING(batch_norm_row_slope_sums, slope_sums_body)
TANDEM_EACH_FLOATING(batch_norm_apply_rows, apply_body)
TANDEM_EACH_FLOATING(batch_norm_backward_rows, backward_body)
