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
template <class C> C row_max(Bands<C>& x) {
  C best = -C(__builtin_inf());
  x.each([&](int64_t, int64_t count, const C* v) {
    const C found = row_max(v, count);
    best = found > best ? found : best;
  });
  return best;
}
/// ln sum e^x
template <class C> C log_of_sum(Bands<C>& x) {
  const C peak = row_max(x);
  Lanes<C> lanes = {};
  x.each(
      [&](int64_t, int64_t count, const C* v) { lanes.add(count, [=](int64_t i) { return math::exp(v[i] - peak); }); });
  return peak + math::log(lanes.fold());
}

/// y = e^(x - peak); it may be x. Here and below one copy, which takes a kilobyte.
template <class C> TANDEM_ONE_COPY void powers(const C* x, C* y, int64_t n, C peak) {
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - peak);
}
// One row each; y may lie where x does, and dx where dy does.
template <class C> void softmax_row(Bands<C>& x, const Elements<C>& result) {
  const C peak = row_max(x);
  Lanes<C> lanes = {};
  x.each([&](int64_t first, int64_t count, C* v) {
    C* const y = x.place(result, first, v);
    powers(v, y, count, peak);
    lanes.add(count, [=](int64_t i) { return y[i]; });
  });
  const C scale = C(1) / lanes.fold();
  x.each([&](int64_t first, int64_t count, C* v) {
    C* const y = x.place(result, first, v);
    if (!x.is_one()) powers(v, y, count, peak);  // the first ones made place for others
    for (int64_t i = 0; i < count; ++i) y[i] *= scale;
    x.write(result, first, count, y);
  });
}
template <class C> void log_softmax_row(Bands<C>& x, const Elements<C>& result) {
  const C log_norm = log_of_sum(x);
  x.each([&](int64_t first, int64_t count, C* v) {
    C* const y = x.place(result, first, v);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) y[i] = v[i] - log_norm;
    x.write(result, first, count, y);
  });
}
/// dx = y (dy - sum dy y)
template <class C> void softmax_backward_row(Bands<C>& dy, Bands<C>& y, const Elements<C>& result) {
  Lanes<C> lanes = {};
  dy.each([&](int64_t first, int64_t count, const C* g) {
    const C* const v = y.read(first, count);
    lanes.add(count, [=](int64_t i) { return g[i] * v[i]; });
  });
  const C dot = lanes.fold();
  dy.each([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.place(result, first, g);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) dx[i] = v[i] * (g[i] - dot);
    dy.write(result, first, count, dx);
  });
}
/// dx = dy - e^y sum dy
template <class C> void log_softmax_backward_row(Bands<C>& dy, Bands<C>& y, const Elements<C>& result) {
  Lanes<C> lanes = {};
  dy.each([&](int64_t, int64_t count, const C* g) { lanes.add(count, [=](int64_t i) { return g[i]; }); });
  const C total = lanes.fold();
  dy.each([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.place(result, first, g);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) dx[i] = g[i] - math::exp(v[i]) * total;
    dy.write(result, first, count, dx);
  });
}

// The same of `width` columns side by side.
template <class C> void column_max(Bands<C>& x, int64_t width, C* peak) {
  for (int64_t c = 0; c < width; ++c) peak[c] = -C(__builtin_inf());
  x.each([&](int64_t, int64_t count, const C* v) {
    for (int64_t i = 0; i < count; ++i, v += x.stride())
      for (int64_t c = 0; c < width; ++c) peak[c] = v[c] > peak[c] ? v[c] : peak[c];
  });
}
/// y = e^(x - peak[column])
template <class C>
TANDEM_ONE_COPY void powers(const C* x, C* y, int64_t n, int64_t stride, int64_t width, const C* peak) {
  for (int64_t i = 0; i < n; ++i) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) y[i * stride + c] = math::exp(x[i * stride + c] - peak[c]);
  }
}
template <class C> void softmax_columns(Bands<C>& x, int64_t width, const Elements<C>& result) {
  const int64_t stride = x.stride();
  C peak[kColumns], scale[kColumns];
  column_max(x, width, peak);
  ColumnLanes<C> lanes;
  x.each([&](int64_t first, int64_t count, C* v) {
    C* const y = x.place(result, first, v);
    powers(v, y, count, stride, width, peak);
    lanes.add(first, count, width, [=](int64_t i, int64_t c) { return y[i * stride + c]; });
  });
  lanes.fold(x.size(), width, scale);
  for (int64_t c = 0; c < width; ++c) scale[c] = C(1) / scale[c];
  x.each([&](int64_t first, int64_t count, C* v) {
    C* const y = x.place(result, first, v);
    if (!x.is_one()) powers(v, y, count, stride, width, peak);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < width; ++c) y[i * stride + c] *= scale[c];
    x.write(result, first, count, y);
  });
}
template <class C> void log_softmax_columns(Bands<C>& x, int64_t width, const Elements<C>& result) {
  const int64_t stride = x.stride();
  C peak[kColumns], log_norm[kColumns];
  column_max(x, width, peak);
  ColumnLanes<C> lanes;
  x.each([&](int64_t first, int64_t count, const C* v) {
    lanes.add(first, count, width, [&](int64_t i, int64_t c) { return math::exp(v[i * stride + c] - peak[c]); });
  });
  lanes.fold(x.size(), width, log_norm);
  for (int64_t c = 0; c < width; ++c) log_norm[c] = peak[c] + math::log(log_norm[c]);
  x.each([&](int64_t first, int64_t count, C* v) {
    C* const y = x.place(result, first, v);
    for (int64_t i = 0; i < count; ++i) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) y[i * stride + c] = v[i * stride + c] - log_norm[c];
    }
    x.write(result, first, count, y);
  });
}
template <class C> void softmax_backward_columns(Bands<C>& dy, Bands<C>& y, int64_t width, const Elements<C>& result) {
  const int64_t stride = dy.stride();
  C dot[kColumns];
  ColumnLanes<C> lanes;
  dy.each([&](int64_t first, int64_t count, const C* g) {
    const C* const v = y.read(first, count);
    lanes.add(first, count, width, [=](int64_t i, int64_t c) { return g[i * stride + c] * v[i * stride + c]; });
  });
  lanes.fold(dy.size(), width, dot);
  dy.each([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.place(result, first, g);
    for (int64_t i = 0; i < count; ++i) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) dx[i * stride + c] = v[i * stride + c] * (g[i * stride + c] - dot[c]);
    }
    dy.write(result, first, count, dx);
  });
}
template <class C>
void log_softmax_backward_columns(Bands<C>& dy, Bands<C>& y, int64_t width, const Elements<C>& result) {
  const int64_t stride = dy.stride();
  C total[kColumns];
  ColumnLanes<C> lanes;
  dy.each([&](int64_t first, int64_t count, const C* g) {
    lanes.add(first, count, width, [=](int64_t i, int64_t c) { return g[i * stride + c]; });
  });
  lanes.fold(dy.size(), width, total);
  dy.each([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.place(result, first, g);
    for (int64_t i = 0; i < count; ++i) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c)
        dx[i * stride + c] = g[i * stride + c] - math::exp(v[i * stride + c]) * total[c];
    }
    dy.write(result, first, count, dx);
  });
}

/// Operands: y, x.
template <class C>
void forward(const Loop& loop, int64_t begin, int64_t end, void (*row)(Bands<C>& x, const Elements<C>& result),
             void (*columns)(Bands<C>& x, int64_t width, const Elements<C>& result)) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), elements(loop, 1);
  for (int64_t r = begin; inner == 1 && r < end; ++r) {
    Bands<C> x(elements, r * n, n);
    row(x, result);
  }
  if (inner == 1) return;
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    Bands<C> x(elements, first, n, inner, width);
    columns(x, width, result);
  });
}
/// Operands: dx, dy, y.
template <class C>
void backward(const Loop& loop, int64_t begin, int64_t end,
              void (*row)(Bands<C>& dy, Bands<C>& y, const Elements<C>& result),
              void (*columns)(Bands<C>& dy, Bands<C>& y, int64_t width, const Elements<C>& result)) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), gradient(loop, 1), output(loop, 2);
  for (int64_t r = begin; inner == 1 && r < end; ++r) {
    Bands<C> dy(gradient, r * n, n), y(output, r * n, n);
    row(dy, y, result);
  }
  if (inner == 1) return;
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    Bands<C> dy(gradient, first, n, inner, width), y(output, first, n, inner, width);
    columns(dy, y, width, result);
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
/// Operands: losses, weights, log_sum, x, target, class weight or none. Scalars: n, ignore_index.
template <class C> void cross_entropy_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const Elements<C> elements(loop, 3);
  const C* const class_weight = data<const C>(loop, 5);
  for (int64_t r = begin; r < end; ++r) {
    Bands<C> x(elements, r * n, n);
    const int64_t t = data<const int64_t>(loop, 4)[r];
    const C log_sum = log_of_sum(x), weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
    data<C>(loop, 0)[r] = t == ignore ? C(0) : weight * (log_sum - elements.get(r * n + t));
    data<C>(loop, 1)[r] = weight;
    data<C>(loop, 2)[r] = log_sum;
  }
}
/// Operands: dx, dloss, x, target, weights, log_sum. Scalars: n, ignore_index.
template <class C> void cross_entropy_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const Elements<C> result(loop, 0), elements(loop, 2);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 3)[r];
    if (t == ignore) {  // not 0 times a slope, which is infinite where every target is ignored
      result.set_zero(r * n, n);
      continue;
    }
    const C slope = data<const C>(loop, 1)[r] * data<const C>(loop, 4)[r], log_sum = data<const C>(loop, 5)[r];
    Bands<C> x(elements, r * n, n);
    x.each([&](int64_t first, int64_t count, C* v) {
      C* const dx = x.place(result, first, v);
      TANDEM_IVDEP
      for (int64_t i = 0; i < count; ++i) dx[i] = slope * math::exp(v[i] - log_sum);
      if (t >= first && t < first + count) dx[t - first] -= slope;
      x.write(result, first, count, dx);
    });
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
