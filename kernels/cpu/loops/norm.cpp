// Rows of batch and layer normalisation. Batch norm's scalars: N, C, L > 1 (batch_norm_rows.cpp has 1); a unit is one
// channel. Statistics, weights and biases, and sums over rows, are float beside half types.
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class T> struct Lanes {
  T lane[kLanes];
  double total;
  template <class F> void add(int64_t n, F f) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
    for (int k = 0; i < n; ++i, ++k) lane[k] += f(i);
  }
  void fold() {
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
    total += double(lane[0]);
    for (int k = 0; k < kLanes; ++k) lane[k] = T(0);
  }
};

/// totals[s] = the sum of f_s(offset) over the elements of channel c. Sixteen lanes, folded into a double after every
/// 2048 elements or so, planes in order: an order that depends on the shape alone.
template <class T, class... F> void channel_sums(const Loop& loop, int64_t c, double* totals, F... f) {
  constexpr int64_t kFold = 2048;
  const int64_t images = loop.scalars[0].integer, channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  Lanes<T> lanes[sizeof...(F)] = {};
  int64_t held = 0;
  const auto add = [&](int64_t n, auto place) {
    int s = 0;
    (lanes[s++].add(n, [&](int64_t i) { return f(place(i)); }), ...);
    if ((held += n) < kFold) return;
    held = 0;
    for (Lanes<T>& each : lanes) each.fold();
  };
  for (int64_t n = 0; n < images; ++n)
    for (int64_t from = 0; from < length; from += kFold) {
      const int64_t at = (n * channels + c) * length + from;
      add(length - from < kFold ? length - from : kFold, [at](int64_t i) { return at + i; });
    }
  int s = 0;
  for (Lanes<T>& each : lanes) each.fold(), totals[s++] = each.total;
}

/// Operands: mean, var, rstd, x. Scalar 3: eps. Two passes: the variance of large means would cancel in one.
template <class T> void stats_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const double count = double(loop.scalars[0].integer * loop.scalars[2].integer);
  const T* const x = data<const T>(loop, 3);
  for (int64_t c = begin; c < end; ++c) {
    double sum, squares;
    channel_sums<C>(loop, c, &sum, [&](int64_t i) { return C(x[i]); });
    const C mean = C(sum / count);
    channel_sums<C>(loop, c, &squares, [&](int64_t i) { return (C(x[i]) - mean) * (C(x[i]) - mean); });
    const double var = squares / count;
    data<C>(loop, 0)[c] = mean;
    data<C>(loop, 1)[c] = C(var);
    data<C>(loop, 2)[c] = C(1.0 / ::sqrt(var + loop.scalars[3].real));
  }
}
/// Operands: y, x, mean, rstd, weight or none, bias or none. A unit is one plane (n, c).
template <class T> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t c = plane % channels;
    const C scale = data<const C>(loop, 3)[c] * (weight ? weight[c] : C(1));
    const C shift = (bias ? bias[c] : C(0)) - data<const C>(loop, 2)[c] * scale;
    T* const y = data<T>(loop, 0) + plane * length;
    const T* const x = data<const T>(loop, 1) + plane * length;
    TANDEM_IVDEP
    for (int64_t i = 0; i < length; ++i) y[i] = T(C(x[i]) * scale + shift);
  }
}
/// Operands: sum_dy, sum_dy_xhat, dx, dy, x, mean, rstd, weight or none. Scalar 3: whether in training mode.
template <class T> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t images = loop.scalars[0].integer, channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const bool training = loop.scalars[3].integer;
  const T *const dy = data<const T>(loop, 3), *const x = data<const T>(loop, 4);
  const C* const weight = data<const C>(loop, 7);
  for (int64_t c = begin; c < end; ++c) {
    const C mean = data<const C>(loop, 5)[c], rstd = data<const C>(loop, 6)[c];
    double sums[2];
    channel_sums<C>(
        loop, c, sums, [&](int64_t i) { return C(dy[i]); }, [&](int64_t i) { return C(dy[i]) * (C(x[i]) - mean); });
    const double sum_dy = sums[0], sum_xhat = sums[1] * double(rstd);
    data<C>(loop, 0)[c] = C(sum_dy);
    data<C>(loop, 1)[c] = C(sum_xhat);
    const double count = double(images * length);
    const C scale = rstd * (weight ? weight[c] : C(1));
    const C from_mean = C(sum_dy / count), from_var = C(sum_xhat / count) * rstd;
    for (int64_t n = 0; n < images; ++n) {
      const int64_t at = (n * channels + c) * length;
      T* const dx = data<T>(loop, 2) + at;
      if (!training) {  // x has no part in it, nor has a NaN in x
        TANDEM_IVDEP
        for (int64_t i = 0; i < length; ++i) dx[i] = T(scale * C(dy[at + i]));
        continue;
      }
      TANDEM_IVDEP
      for (int64_t i = 0; i < length; ++i)
        dx[i] = T(scale * (C(dy[at + i]) - from_mean - (C(x[at + i]) - mean) * from_var));
    }
  }
}

/// Operands: y, mean, rstd, x, weight or none, bias or none. Scalars: n, eps. A unit is one row.
template <class T> void layer_norm_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer;
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for (int64_t r = begin; r < end; ++r) {
    T* const y = data<T>(loop, 0) + r * n;
    widened(data<const T>(loop, 3) + r * n, n, [&](const auto* x) {
      const C mean = lane_sum<C>(n, [&](int64_t i) { return C(x[i]); }) / C(n);
      const C var = lane_sum<C>(n, [&](int64_t i) { return (C(x[i]) - mean) * (C(x[i]) - mean); }) / C(n);
      const C rstd = C(1) / math::sqrt(var + C(loop.scalars[1].real));
      data<C>(loop, 1)[r] = mean;
      data<C>(loop, 2)[r] = rstd;
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i)
        y[i] = T((C(x[i]) - mean) * rstd * (weight ? weight[i] : C(1)) + (bias ? bias[i] : C(0)));
    });
  }
}
/// One row of layer norm's gradient: dx, and what it adds to sum dy (x - mean) rstd and to sum dy, or null. dy and x
/// lie as in memory or widened.
template <class T, class DY, class X>
void layer_norm_backward_row(const DY* dy, const X* x, Upcast<T> mean, Upcast<T> rstd, const Upcast<T>* weight,
                             int64_t n, T* dx, Upcast<T>* weights, Upcast<T>* biases) {
  using C = Upcast<T>;
  const auto gradient = [&](auto g) {
    const C a = lane_sum<C>(n, g) / C(n);
    const C b = lane_sum<C>(n, [&](int64_t i) { return g(i) * (C(x[i]) - mean); }) * rstd * rstd / C(n);
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = T(rstd * (g(i) - a - (C(x[i]) - mean) * b));
  };
  if (weight)
    gradient([=](int64_t i) { return C(dy[i]) * weight[i]; });
  else
    gradient([=](int64_t i) { return C(dy[i]); });
  if (weights) {
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) weights[i] += C(dy[i]) * ((C(x[i]) - mean) * rstd);
  }
  if (biases) {
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) biases[i] += C(dy[i]);
  }
}
/// Operands: dx, then of each block of rows sum dy (x - mean) rstd or none, and sum dy or none; dy, x, mean, rstd,
/// weight or none. Scalars: n, rows, rows of a block. A unit is one block.
template <class T> void layer_norm_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, rows = loop.scalars[1].integer, length = loop.scalars[2].integer;
  for (int64_t block = begin; block < end; ++block) {
    C* const weights = data<C>(loop, 1) ? data<C>(loop, 1) + block * n : nullptr;
    C* const biases = data<C>(loop, 2) ? data<C>(loop, 2) + block * n : nullptr;
    for (int64_t i = 0; weights && i < n; ++i) weights[i] = C(0);
    for (int64_t i = 0; biases && i < n; ++i) biases[i] = C(0);
    const int64_t last = rows - block * length < length ? rows : (block + 1) * length;
    for (int64_t r = block * length; r < last; ++r)
      widened(data<const T>(loop, 3) + r * n, n, [&](const auto* dy) {
        widened(data<const T>(loop, 4) + r * n, n, [&](const auto* x) {
          layer_norm_backward_row(dy, x, data<const C>(loop, 5)[r], data<const C>(loop, 6)[r], data<const C>(loop, 7),
                                  n, data<T>(loop, 0) + r * n, weights, biases);
        });
      });
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(batch_norm_stats, stats_body)
TANDEM_EACH_FLOATING(batch_norm_apply, apply_body)
TANDEM_EACH_FLOATING(batch_norm_backward, backward_body)
TANDEM_EACH_FLOATING(layer_norm, layer_norm_body)
TANDEM_EACH_FLOATING(layer_norm_backward, layer_norm_backward_body)
