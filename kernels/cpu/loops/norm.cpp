// Rows of batch and layer normalisation. Batch norm's scalars: N, C, L; a unit is one channel.
#include "tandem/kernels/cpu/loops/real.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Sum over the N planes of channel c of sum f(plane offset + i): planes in order, in double.
template <class T, class F> double channel_sum(const Loop& loop, int64_t c, F f) {
  const int64_t images = loop.scalars[0].integer, channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  double total = 0;
  if (length == 1) return double(lane_sum<T>(images, [&](int64_t i) { return f(i * channels + c); }));
  for (int64_t n = 0; n < images; ++n) {
    const int64_t at = (n * channels + c) * length;
    total += double(lane_sum<T>(length, [&](int64_t i) { return f(at + i); }));
  }
  return total;
}

/// Operands: mean, var, rstd, x. Scalar 3: eps. Two passes: the variance of large means would cancel in one.
template <class T> void stats_body(const Loop& loop, int64_t begin, int64_t end) {
  const double count = double(loop.scalars[0].integer * loop.scalars[2].integer);
  const T* const x = data<const T>(loop, 3);
  for (int64_t c = begin; c < end; ++c) {
    const T mean = T(channel_sum<T>(loop, c, [&](int64_t i) { return x[i]; }) / count);
    const double var = channel_sum<T>(loop, c, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / count;
    data<T>(loop, 0)[c] = mean;
    data<T>(loop, 1)[c] = T(var);
    data<T>(loop, 2)[c] = T(1.0 / ::sqrt(var + loop.scalars[3].real));
  }
}
/// Operands: y, x, mean, rstd, weight or none, bias or none. A unit is one plane (n, c).
template <class T> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const T *const weight = data<const T>(loop, 4), *const bias = data<const T>(loop, 5);
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t c = plane % channels;
    const T scale = data<const T>(loop, 3)[c] * (weight ? weight[c] : T(1));
    const T shift = (bias ? bias[c] : T(0)) - data<const T>(loop, 2)[c] * scale;
    T* const y = data<T>(loop, 0) + plane * length;
    const T* const x = data<const T>(loop, 1) + plane * length;
    TANDEM_IVDEP
    for (int64_t i = 0; i < length; ++i) y[i] = x[i] * scale + shift;
  }
}
/// Operands: sum_dy, sum_dy_xhat, dx, dy, x, mean, rstd, weight or none. Scalar 3: whether in training mode.
template <class T> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t images = loop.scalars[0].integer, channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const bool training = loop.scalars[3].integer;
  const T *const dy = data<const T>(loop, 3), *const x = data<const T>(loop, 4), *const weight = data<const T>(loop, 7);
  for (int64_t c = begin; c < end; ++c) {
    const T mean = data<const T>(loop, 5)[c], rstd = data<const T>(loop, 6)[c];
    const double sum_dy = channel_sum<T>(loop, c, [&](int64_t i) { return dy[i]; });
    const double sum_xhat = channel_sum<T>(loop, c, [&](int64_t i) { return dy[i] * (x[i] - mean); }) * double(rstd);
    data<T>(loop, 0)[c] = T(sum_dy);
    data<T>(loop, 1)[c] = T(sum_xhat);
    const double count = double(images * length);
    const T scale = rstd * (weight ? weight[c] : T(1));
    const T from_mean = training ? T(sum_dy / count) : T(0), from_var = training ? T(sum_xhat / count) * rstd : T(0);
    for (int64_t n = 0; n < images; ++n) {
      const int64_t at = (n * channels + c) * length;
      T* const dx = data<T>(loop, 2) + at;
      TANDEM_IVDEP
      for (int64_t i = 0; i < length; ++i) dx[i] = scale * (dy[at + i] - from_mean - (x[at + i] - mean) * from_var);
    }
  }
}

/// Operands: y, mean, rstd, x, weight or none, bias or none. Scalars: n, eps. A unit is one row.
template <class T> void layer_norm_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer;
  const T *const weight = data<const T>(loop, 4), *const bias = data<const T>(loop, 5);
  for (int64_t r = begin; r < end; ++r) {
    const T* const x = data<const T>(loop, 3) + r * n;
    T* const y = data<T>(loop, 0) + r * n;
    const T mean = lane_sum<T>(n, [&](int64_t i) { return x[i]; }) / T(n);
    const T var = lane_sum<T>(n, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / T(n);
    const T rstd = T(1) / math::sqrt(var + T(loop.scalars[1].real));
    data<T>(loop, 1)[r] = mean;
    data<T>(loop, 2)[r] = rstd;
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * (weight ? weight[i] : T(1)) + (bias ? bias[i] : T(0));
  }
}
/// Operands: dx, dy, x, mean, rstd, weight or none.
template <class T> void layer_norm_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer;
  const T* const weight = data<const T>(loop, 5);
  for (int64_t r = begin; r < end; ++r) {
    const T *const dy = data<const T>(loop, 1) + r * n, *const x = data<const T>(loop, 2) + r * n;
    const T mean = data<const T>(loop, 3)[r], rstd = data<const T>(loop, 4)[r];
    T* const dx = data<T>(loop, 0) + r * n;
    const auto g = [&](int64_t i) { return weight ? dy[i] * weight[i] : dy[i]; };
    const T a = lane_sum<T>(n, g) / T(n);
    const T b = lane_sum<T>(n, [&](int64_t i) { return g(i) * (x[i] - mean); }) * rstd * rstd / T(n);
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = rstd * (g(i) - a - (x[i] - mean) * b);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_REAL_ROW(batch_norm_stats, stats_body)
TANDEM_REAL_ROW(batch_norm_apply, apply_body)
TANDEM_REAL_ROW(batch_norm_backward, backward_body)
TANDEM_REAL_ROW(layer_norm, layer_norm_body)
TANDEM_REAL_ROW(layer_norm_backward, layer_norm_backward_body)
