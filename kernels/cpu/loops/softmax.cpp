// Softmax and log-softmax along n of (outer, n, inner), and the negative log likelihood. Scalars: n, inner; a unit is
// one row or column. What there is one of for each row or class (losses, weights, log_sum) is float beside half types.
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class T> Upcast<T> row_max(const T* x, int64_t n) {
  using C = Upcast<T>;
  C lane[kLanes];
  for (int k = 0; k < kLanes; ++k) lane[k] = -C(__builtin_inf());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] = C(x[i + k]) > lane[k] ? C(x[i + k]) : lane[k];
  for (int k = 0; i < n; ++i, ++k) lane[k] = C(x[i]) > lane[k] ? C(x[i]) : lane[k];
  C best = lane[0];
  for (int k = 1; k < kLanes; ++k) best = lane[k] > best ? lane[k] : best;
  return best;
}

/// Whether e^(x - max) lies in y until its sum is known. In a half type it would be rounded twice: there it is computed
/// again where there is no other room.
template <class T> constexpr bool kKeepsExponentials = __is_same(T, Upcast<T>);

/// x: a row as it lies in memory or widened. `room` holds the exponentials of a widened one.
template <class T, class X> void softmax_row(const X* x, Upcast<T>* room, T* y, int64_t n) {
  using C = Upcast<T>;
  const C peak = row_max(x, n);
  if constexpr (kKeepsExponentials<X>) {
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) room[i] = math::exp(x[i] - peak);
    const C scale = C(1) / lane_sum<C>(n, [&](int64_t i) { return room[i]; });
    for (int64_t i = 0; i < n; ++i) y[i] = T(room[i] * scale);
  } else {
    const auto power = [&](int64_t i) { return math::exp(C(x[i]) - peak); };
    const C scale = C(1) / lane_sum<C>(n, power);
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = T(power(i) * scale);
  }
}
template <class T> void softmax_rows(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer;
  for (int64_t r = begin; r < end; ++r) {
    T* const y = data<T>(loop, 0) + r * n;
    widened(data<const T>(loop, 1) + r * n, n, [&](auto* x) {
      if constexpr (kKeepsExponentials<T>)
        softmax_row(x, y, y, n);
      else if constexpr (requires { *x = Upcast<T>(0); })
        softmax_row(x, x, y, n);
      else
        softmax_row(x, nullptr, y, n);
    });
  }
}
/// ln sum e^x
template <class X> Upcast<X> log_of_sum(const X* x, int64_t n) {
  using C = Upcast<X>;
  const C peak = row_max(x, n);
  return peak + math::log(lane_sum<C>(n, [&](int64_t i) { return math::exp(C(x[i]) - peak); }));
}
template <class T> void log_softmax_rows(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer;
  for (int64_t r = begin; r < end; ++r) {
    T* const y = data<T>(loop, 0) + r * n;
    widened(data<const T>(loop, 1) + r * n, n, [&](const auto* x) {
      const C log_norm = log_of_sum(x, n);
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) y[i] = T(C(x[i]) - log_norm);
    });
  }
}
/// dx = y (dy - sum dy y)
template <class T> void softmax_backward_rows(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer;
  for (int64_t r = begin; r < end; ++r) {
    T* const dx = data<T>(loop, 0) + r * n;
    const T *const dy = data<const T>(loop, 1) + r * n, *const y = data<const T>(loop, 2) + r * n;
    const C dot = lane_sum<C>(n, [&](int64_t i) { return C(dy[i]) * C(y[i]); });
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = T(C(y[i]) * (C(dy[i]) - dot));
  }
}
/// dx = dy - e^y sum dy
template <class T> void log_softmax_backward_rows(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer;
  for (int64_t r = begin; r < end; ++r) {
    T* const dx = data<T>(loop, 0) + r * n;
    const T *const dy = data<const T>(loop, 1) + r * n, *const y = data<const T>(loop, 2) + r * n;
    const C total = lane_sum<C>(n, [&](int64_t i) { return C(dy[i]); });
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = T(C(dy[i]) - math::exp(C(y[i])) * total);
  }
}
template <class T> void column_max(const T* x, int64_t n, int64_t inner, int64_t width, Upcast<T>* peak) {
  using C = Upcast<T>;
  for (int64_t c = 0; c < width; ++c) peak[c] = -C(__builtin_inf());
  for (int64_t i = 0; i < n; ++i, x += inner)
    for (int64_t c = 0; c < width; ++c) peak[c] = C(x[c]) > peak[c] ? C(x[c]) : peak[c];
}
template <class T> void softmax_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  if (inner == 1) return softmax_rows<T>(loop, begin, end);
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    T* const y = data<T>(loop, 0) + first;
    const T* const x = data<const T>(loop, 1) + first;
    C peak[kColumns], scale[kColumns];
    column_max(x, n, inner, width, peak);
    if constexpr (kKeepsExponentials<T>) {
      for (int64_t i = 0; i < n; ++i) {
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) y[i * inner + c] = math::exp(x[i * inner + c] - peak[c]);
      }
      column_sums<T>(
          n, width, [&](int64_t i, int64_t c) { return y[i * inner + c]; }, scale);
      for (int64_t c = 0; c < width; ++c) scale[c] = T(1) / scale[c];
      for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < width; ++c) y[i * inner + c] *= scale[c];
    } else {
      const auto power = [&](int64_t i, int64_t c) { return math::exp(C(x[i * inner + c]) - peak[c]); };
      column_sums<C>(n, width, power, scale);
      for (int64_t c = 0; c < width; ++c) scale[c] = C(1) / scale[c];
      for (int64_t i = 0; i < n; ++i) {
        TANDEM_IVDEP
        for (int64_t c = 0; c < width; ++c) y[i * inner + c] = T(power(i, c) * scale[c]);
      }
    }
  });
}
template <class T> void log_softmax_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  if (inner == 1) return log_softmax_rows<T>(loop, begin, end);
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    T* const y = data<T>(loop, 0) + first;
    const T* const x = data<const T>(loop, 1) + first;
    C peak[kColumns], log_norm[kColumns];
    column_max(x, n, inner, width, peak);
    column_sums<C>(
        n, width, [&](int64_t i, int64_t c) { return math::exp(C(x[i * inner + c]) - peak[c]); }, log_norm);
    for (int64_t c = 0; c < width; ++c) log_norm[c] = peak[c] + math::log(log_norm[c]);
    for (int64_t i = 0; i < n; ++i) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) y[i * inner + c] = T(C(x[i * inner + c]) - log_norm[c]);
    }
  });
}
template <class T> void softmax_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  if (inner == 1) return softmax_backward_rows<T>(loop, begin, end);
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    T* const dx = data<T>(loop, 0) + first;
    const T *const dy = data<const T>(loop, 1) + first, *const y = data<const T>(loop, 2) + first;
    C dot[kColumns];
    column_sums<C>(
        n, width, [&](int64_t i, int64_t c) { return C(dy[i * inner + c]) * C(y[i * inner + c]); }, dot);
    for (int64_t i = 0; i < n; ++i) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) dx[i * inner + c] = T(C(y[i * inner + c]) * (C(dy[i * inner + c]) - dot[c]));
    }
  });
}
template <class T> void log_softmax_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  if (inner == 1) return log_softmax_backward_rows<T>(loop, begin, end);
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    T* const dx = data<T>(loop, 0) + first;
    const T *const dy = data<const T>(loop, 1) + first, *const y = data<const T>(loop, 2) + first;
    C total[kColumns];
    column_sums<C>(
        n, width, [&](int64_t i, int64_t c) { return C(dy[i * inner + c]); }, total);
    for (int64_t i = 0; i < n; ++i) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c)
        dx[i * inner + c] = T(C(dy[i * inner + c]) - math::exp(C(y[i * inner + c])) * total[c]);
    }
  });
}
/// Operands: losses, weights, log_prob, target, class weight or none. Scalars: n, ignore_index.
template <class T> void nll_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const C* const class_weight = data<const C>(loop, 4);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 3)[r];
    const C weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
    data<C>(loop, 0)[r] = t == ignore ? C(0) : -weight * C(data<const T>(loop, 2)[r * n + t]);
    data<C>(loop, 1)[r] = weight;
  }
}
/// Operands: losses, weights, log_sum, x, target, class weight or none. Scalars: n, ignore_index.
template <class T> void cross_entropy_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const C* const class_weight = data<const C>(loop, 5);
  for (int64_t r = begin; r < end; ++r) {
    const T* const x = data<const T>(loop, 3) + r * n;
    const int64_t t = data<const int64_t>(loop, 4)[r];
    C log_sum;
    widened(x, n, [&](const auto* row) { log_sum = log_of_sum(row, n); });
    const C weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
    data<C>(loop, 0)[r] = t == ignore ? C(0) : weight * (log_sum - C(x[t]));
    data<C>(loop, 1)[r] = weight;
    data<C>(loop, 2)[r] = log_sum;
  }
}
/// Operands: dx, dloss, x, target, weights, log_sum. Scalars: n, ignore_index.
template <class T> void cross_entropy_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  for (int64_t r = begin; r < end; ++r) {
    T* const dx = data<T>(loop, 0) + r * n;
    const T* const x = data<const T>(loop, 2) + r * n;
    const int64_t t = data<const int64_t>(loop, 3)[r];
    if (t == ignore) {  // not 0 times a slope, which is infinite where every target is ignored
      for (int64_t i = 0; i < n; ++i) dx[i] = T(0);
      continue;
    }
    const C slope = data<const C>(loop, 1)[r] * data<const C>(loop, 4)[r], log_sum = data<const C>(loop, 5)[r];
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = T(slope * math::exp(C(x[i]) - log_sum));
    if (t < 0 || t >= n) continue;
    if constexpr (__is_same(T, C))
      dx[t] -= slope;
    else  // from the number before it was rounded
      dx[t] = T(slope * math::exp(C(x[t]) - log_sum) - slope);
  }
}
/// Operands: loss, total weight, losses, weights. Scalar: how many. One unit; in double, as many may be summed.
template <class T> void nll_mean_body(const Loop& loop, int64_t, int64_t) {
  const int64_t n = loop.scalars[0].integer;
  const T *const losses = data<const T>(loop, 2), *const weights = data<const T>(loop, 3);
  const double sum = lane_sum<double>(n, [=](int64_t i) { return double(losses[i]); });
  const double total = lane_sum<double>(n, [=](int64_t i) { return double(weights[i]); });
  *data<T>(loop, 0) = T(sum / total);
  *data<T>(loop, 1) = T(total);
}
/// Operands: dx, dloss, target, weights. Scalars: n, ignore_index.
template <class T> void nll_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  for (int64_t r = begin; r < end; ++r) {
    T* const dx = data<T>(loop, 0) + r * n;
    const int64_t t = data<const int64_t>(loop, 2)[r];
    for (int64_t i = 0; i < n; ++i) dx[i] = T(0);
    if (t >= 0 && t < n && t != ignore) dx[t] = T(-data<const C>(loop, 1)[r] * data<const C>(loop, 3)[r]);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(softmax, softmax_body)
TANDEM_EACH_FLOATING(log_softmax, log_softmax_body)
TANDEM_EACH_FLOATING(softmax_backward, softmax_backward_body)
TANDEM_EACH_FLOATING(log_softmax_backward, log_softmax_backward_body)
TANDEM_EACH_FLOATING(nll, nll_body)
TANDEM_EACH_FLOATING(cross_entropy, cross_entropy_body)
TANDEM_EACH_FLOATING(cross_entropy_backward, cross_entropy_backward_body)
TANDEM_ROW(nll_mean, nll_mean_body<float>, nll_mean_body<double>)
TANDEM_EACH_FLOATING(nll_backward, nll_backward_body)
