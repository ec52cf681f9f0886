// Softmax and log-softmax along n of (outer, n, inner), and the negative log likelihood. Scalars: n, inner; a unit is
// one row or column. What there is one of for each row or class (losses, weights, log_sum) is float beside half types.
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class C> C row_max(const C* x, int64_t n) {
  C lane[kLanes];
  for (int k = 0; k < kLanes; ++k) lane[k] = -C(__builtin_inf());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
  for (int k = 0; i < n; ++i, ++k) lane[k] = x[i] > lane[k] ? x[i] : lane[k];
  C best = lane[0];
  for (int k = 1; k < kLanes; ++k) best = lane[k] > best ? lane[k] : best;
  return best;
}
/// ln sum e^x
template <class C> C log_of_sum(const C* x, int64_t n) {
  const C peak = row_max(x, n);
  return peak + math::log(lane_sum<C>(n, [&](int64_t i) { return math::exp(x[i] - peak); }));
}

// One row each; y may be x, and dx may be dy.
template <class C> void softmax_row(const C* x, C* y, int64_t n) {
  const C peak = row_max(x, n);
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - peak);
  const C scale = C(1) / lane_sum<C>(n, [&](int64_t i) { return y[i]; });
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}
template <class C> void log_softmax_row(const C* x, C* y, int64_t n) {
  const C log_norm = log_of_sum(x, n);
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - log_norm;
}
/// dx = y (dy - sum dy y)
template <class C> void softmax_backward_row(const C* dy, const C* y, C* dx, int64_t n) {
  const C dot = lane_sum<C>(n, [&](int64_t i) { return dy[i] * y[i]; });
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}
/// dx = dy - e^y sum dy
template <class C> void log_softmax_backward_row(const C* dy, const C* y, C* dx, int64_t n) {
  const C total = lane_sum<C>(n, [&](int64_t i) { return dy[i]; });
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - math::exp(y[i]) * total;
}

// The same of `width` columns side by side, `stride` from one element of a column to the next.
template <class C> void column_max(const C* x, int64_t n, int64_t stride, int64_t width, C* peak) {
  for (int64_t c = 0; c < width; ++c) peak[c] = -C(__builtin_inf());
  for (int64_t i = 0; i < n; ++i, x += stride)
    for (int64_t c = 0; c < width; ++c) peak[c] = x[c] > peak[c] ? x[c] : peak[c];
}
template <class C> void softmax_columns(const C* x, C* y, int64_t n, int64_t stride, int64_t width) {
  C peak[kColumns], scale[kColumns];
  column_max(x, n, stride, width, peak);
  for (int64_t i = 0; i < n; ++i) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) y[i * stride + c] = math::exp(x[i * stride + c] - peak[c]);
  }
  column_sums<C>(
      n, width, [&](int64_t i, int64_t c) { return y[i * stride + c]; }, scale);
  for (int64_t c = 0; c < width; ++c) scale[c] = C(1) / scale[c];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) y[i * stride + c] *= scale[c];
}
template <class C> void log_softmax_columns(const C* x, C* y, int64_t n, int64_t stride, int64_t width) {
  C peak[kColumns], log_norm[kColumns];
  column_max(x, n, stride, width, peak);
  column_sums<C>(
      n, width, [&](int64_t i, int64_t c) { return math::exp(x[i * stride + c] - peak[c]); }, log_norm);
  for (int64_t c = 0; c < width; ++c) log_norm[c] = peak[c] + math::log(log_norm[c]);
  for (int64_t i = 0; i < n; ++i) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) y[i * stride + c] = x[i * stride + c] - log_norm[c];
  }
}
template <class C>
void softmax_backward_columns(const C* dy, const C* y, C* dx, int64_t n, int64_t stride, int64_t width) {
  C dot[kColumns];
  column_sums<C>(
      n, width, [&](int64_t i, int64_t c) { return dy[i * stride + c] * y[i * stride + c]; }, dot);
  for (int64_t i = 0; i < n; ++i) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) dx[i * stride + c] = y[i * stride + c] * (dy[i * stride + c] - dot[c]);
  }
}
template <class C>
void log_softmax_backward_columns(const C* dy, const C* y, C* dx, int64_t n, int64_t stride, int64_t width) {
  C total[kColumns];
  column_sums<C>(
      n, width, [&](int64_t i, int64_t c) { return dy[i * stride + c]; }, total);
  for (int64_t i = 0; i < n; ++i) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c)
      dx[i * stride + c] = dy[i * stride + c] - math::exp(y[i * stride + c]) * total[c];
  }
}

/// Columns of an operand: where they lie or, of a half type, in `room`, side by side.
template <class C> struct Columns {
  const Elements<C>& all;
  int64_t first, n, inner, width;
  int64_t stride() const { return all.is_half() ? width : inner; }
  C* read(C* room) const {
    if (!all.is_half()) return all.place(first, nullptr);
    for (int64_t i = 0; i < n; ++i) all.read(first + i * inner, width, room + i * width);
    return room;
  }
  void write(const C* made) const {
    if (!all.is_half()) return;
    for (int64_t i = 0; i < n; ++i) all.write(first + i * inner, width, made + i * width);
  }
};
/// Operands: y, x. Room: n, times kColumns if there are columns.
template <class C>
void forward(const Loop& loop, int64_t begin, int64_t end, void (*row)(const C* x, C* y, int64_t n),
             void (*columns)(const C* x, C* y, int64_t n, int64_t stride, int64_t width)) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), elements(loop, 1);
  for (int64_t r = begin; inner == 1 && r < end; ++r) {
    C* const y = result.place(r * n, scratch<C>());
    row(elements.read(r * n, n, scratch<C>()), y, n);
    result.write(r * n, n, y);
  }
  if (inner == 1) return;
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    const Columns<C> to{result, first, n, inner, width}, from{elements, first, n, inner, width};
    const C* const x = from.read(scratch<C>());
    C* const y = result.place(first, scratch<C>());
    columns(x, y, n, to.stride(), width);
    to.write(y);
  });
}
/// Operands: dx, dy, y. Room: twice as much.
template <class C>
void backward(const Loop& loop, int64_t begin, int64_t end, void (*row)(const C* dy, const C* y, C* dx, int64_t n),
              void (*columns)(const C* dy, const C* y, C* dx, int64_t n, int64_t stride, int64_t width)) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), gradient(loop, 1), output(loop, 2);
  for (int64_t r = begin; inner == 1 && r < end; ++r) {
    const C *const dy = gradient.read(r * n, n, scratch<C>()), *const y = output.read(r * n, n, scratch<C>() + n);
    C* const dx = result.place(r * n, scratch<C>());
    row(dy, y, dx, n);
    result.write(r * n, n, dx);
  }
  if (inner == 1) return;
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    const Columns<C> to{result, first, n, inner, width}, dy{gradient, first, n, inner, width},
        y{output, first, n, inner, width};
    C* const dx = result.place(first, scratch<C>());
    columns(dy.read(scratch<C>()), y.read(scratch<C>() + n * kColumns), dx, n, to.stride(), width);
    to.write(dx);
  });
}
template <class C> void softmax_body(const Loop& loop, int64_t begin, int64_t end) {
  forward<C>(loop, begin, end, softmax_row<C>, softmax_columns<C>);
}
template <class C> void log_softmax_body(const Loop& loop, int64_t begin, int64_t end) {
  forward<C>(loop, begin, end, log_softmax_row<C>, log_softmax_columns<C>);
}
template <class C> void softmax_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  backward<C>(loop, begin, end, softmax_backward_row<C>, softmax_backward_columns<C>);
}
template <class C> void log_softmax_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  backward<C>(loop, begin, end, log_softmax_backward_row<C>, log_softmax_backward_columns<C>);
}

/// Operands: losses, weights, log_prob, target, class weight or none. Scalars: n, ignore_index.
template <class C> void nll_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const Elements<C> log_prob(loop, 2);
  const C* const class_weight = data<const C>(loop, 4);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 3)[r];
    const C weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
    data<C>(loop, 0)[r] = t == ignore ? C(0) : -weight * log_prob.get(r * n + t);
    data<C>(loop, 1)[r] = weight;
  }
}
/// Operands: losses, weights, log_sum, x, target, class weight or none. Scalars: n, ignore_index. Room: n.
template <class C> void cross_entropy_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const Elements<C> elements(loop, 3);
  const C* const class_weight = data<const C>(loop, 5);
  for (int64_t r = begin; r < end; ++r) {
    const C* const x = elements.read(r * n, n, scratch<C>());
    const int64_t t = data<const int64_t>(loop, 4)[r];
    const C log_sum = log_of_sum(x, n), weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
    data<C>(loop, 0)[r] = t == ignore ? C(0) : weight * (log_sum - x[t]);
    data<C>(loop, 1)[r] = weight;
    data<C>(loop, 2)[r] = log_sum;
  }
}
/// Operands: dx, dloss, x, target, weights, log_sum. Scalars: n, ignore_index. Room: n.
template <class C> void cross_entropy_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), elements(loop, 2);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 3)[r];
    if (t == ignore) {  // not 0 times a slope, which is infinite where every target is ignored
      result.set_zero(r * n, n);
      continue;
    }
    const C* const x = elements.read(r * n, n, scratch<C>());
    C* const dx = result.place(r * n, scratch<C>());
    const C slope = data<const C>(loop, 1)[r] * data<const C>(loop, 4)[r], log_sum = data<const C>(loop, 5)[r];
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = slope * math::exp(x[i] - log_sum);
    if (t >= 0 && t < n) dx[t] -= slope;
    result.write(r * n, n, dx);
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
template <class C> void nll_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const Elements<C> result(loop, 0);
  result.set_zero(begin * n, (end - begin) * n);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 2)[r];
    if (t >= 0 && t < n && t != ignore) result.set(r * n + t, -data<const C>(loop, 1)[r] * data<const C>(loop, 3)[r]);
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
