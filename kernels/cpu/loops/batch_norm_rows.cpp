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
/// `width` channels of rows. Of a half type so many rows are read at a time as there is room for: rows of all channels
/// lie one behind the other.
template <class C> struct Rows {
  Elements<C> all;
  int64_t width, channels;
  int64_t together(int64_t n) const { return !all.is_half() ? n : width == channels ? kRoom / width : 1; }
  /// From one row that was read, or is to be made, to the next.
  int64_t stride() const { return all.is_half() ? width : channels; }
};

/// totals[c] = sum of f(i, c) over n rows, as column_sums has it, with as many lanes whatever n is. read(first, count)
/// brings `together` rows, of which f(i, ...) is the i-th.
template <class C, class Read, class F>
void block_sums(int64_t n, int64_t together, int64_t width, double* totals, Read read, F f) {
  C lane[kLanes][kColumns];
  for (auto& each : lane)
    for (C& value : each) value = C(0);
  for (int64_t first = 0; first < n; first += together) {
    const int64_t count = n - first < together ? n - first : together;
    read(first, count);
    for (int64_t i = 0; i < count; ++i) {
      C* const to = lane[(first + i) % kLanes];
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) to[c] += f(i, c);
    }
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
    const Rows<C> rows{{loop, 1}, width, channels};
    const int64_t together = rows.together(n), stride = rows.stride();
    C room[kRoom];
    const C* x;
    const auto read = [&](int64_t i, int64_t count) { x = rows.all.read(at + i * channels, count * width, room); };
    if (!center)
      return block_sums<C>(n, together, width, to, read, [&](int64_t i, int64_t k) { return x[i * stride + k]; });
    block_sums<C>(n, together, width, to, read, [&](int64_t i, int64_t k) {
      const C off = x[i * stride + k] - center[k];
      return off * off;
    });
  });
}
/// Operands: double sums (blocks, channels) of dy, and of dy (x - mean); dy, x, mean.
template <class C> void slope_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
    const C* const mean = data<const C>(loop, 4) + c;
    const int64_t to = at / channels / kFold * channels + c;
    const Rows<C> dy_rows{{loop, 2}, width, channels}, x_rows{{loop, 3}, width, channels};
    const int64_t together = x_rows.together(n), stride = x_rows.stride();
    C dy_room[kRoom], x_room[kRoom];
    const C *dy, *x;
    const auto read = [&](int64_t i, int64_t count) {
      dy = dy_rows.all.read(at + i * channels, count * width, dy_room);
      x = x_rows.all.read(at + i * channels, count * width, x_room);
    };
    block_sums<C>(n, together, width, data<double>(loop, 0) + to, read,
                  [&](int64_t i, int64_t k) { return dy[i * stride + k]; });
    block_sums<C>(n, together, width, data<double>(loop, 1) + to, read,
                  [&](int64_t i, int64_t k) { return dy[i * stride + k] * (x[i * stride + k] - mean[k]); });
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
    const Rows<C> rows{elements, count, channels};
    const int64_t step = rows.together(end - begin), stride = rows.stride();
    for (int64_t row = begin; row < end; row += step) {
      const int64_t at = row * channels + first, n = end - row < step ? end - row : step;
      C room[kRoom];
      const C* x = elements.read(at, n * count, room);
      C *const made = result.place(at, room), *y = made;
      for (int64_t r = 0; r < n; ++r, x += stride, y += stride) {
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
  const double all_rows = double(loop.scalars[0].integer);
  const bool training = loop.scalars[2].integer;
  const C* const weight = data<const C>(loop, 5);
  for_channels(loop, [&](int64_t first, int64_t count) {
    C scale[kChannels], mean[kChannels], from_mean[kChannels], from_var[kChannels];
    for (int64_t c = 0; c < count; ++c) {
      const C rstd = data<const C>(loop, 4)[first + c];
      const double* const sums = data<const double>(loop, 6) + first + c;
      scale[c] = rstd * (weight ? weight[first + c] : C(1));
      mean[c] = data<const C>(loop, 3)[first + c];
      from_mean[c] = C(sums[0] / all_rows);
      from_var[c] = C(sums[channels] * double(rstd) / all_rows) * rstd;
    }
    const Rows<C> rows{elements, count, channels};
    const int64_t step = rows.together(end - begin), stride = rows.stride();
    for (int64_t row = begin; row < end; row += step) {
      const int64_t at = row * channels + first, n = end - row < step ? end - row : step;
      C dy_room[kRoom], x_room[kRoom];
      const C *dy = gradient.read(at, n * count, dy_room), *x = elements.read(at, n * count, x_room);
      C *const made = result.place(at, dy_room), *dx = made;
      for (int64_t r = 0; r < n; ++r, dx += stride, dy += stride, x += stride) {
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
