// Loops of softmax and log-softmax along n of (outer, n, inner), and of the negative log likelihood. The softmax loops
// run over rows (if inner is 1) or columns, and have the scalars n and inner. Tensors with one number per row or class
// (losses, weights, log_sum) are float for half types.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class C> C row_max(RowBands<C>& x) {
  C best = -C(__builtin_inf());
  x.for_each_band([&](int64_t, int64_t count, const C* v) {
    const C found = reduce_lanes<NanIgnoringMax>(v, count);
    best = found > best ? found : best;
  });
  return best;
}
/// ln sum e^x as two terms: max_x, the largest x, and log = ln sum e^(x - max_x). Subtracting the two terms one after
/// the other from an x near max_x is exact; their sum would be rounded to the precision of max_x.
template <class C> struct LogSumExp { C max_x, log; };
template <class C> LogSumExp<C> log_sum_exp(RowBands<C>& x) {
  const C max_x = row_max(x);
  Lanes<C> lanes = {};
  x.for_each_band([&](int64_t, int64_t count, const C* v) {
    lanes.add(count, [=](int64_t i) { return math::exp_of_negative(v[i] - max_x); });
  });
  return {max_x, math::log(lanes.fold())};
}

/// Computes y = e^(x - max_x); y may be x. It is not inlined, because its code takes a kilobyte. Prefetches the next
/// row, because that row may be on another page, which the processor's own prefetching does not reach.
template <class C> TANDEM_NOINLINE void exp_shifted(const C* x, C* y, int64_t n, C max_x) {
  constexpr int64_t kChunk = 128, kLine = 64 / int64_t(sizeof(C));
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t last = n - first < kChunk ? n : first + kChunk;
    for (int64_t i = first; i < last; i += kLine) __builtin_prefetch(x + n + i);
    TANDEM_IVDEP
    for (int64_t i = first; i < last; ++i) y[i] = math::exp_of_negative(x[i] - max_x);
  }
}
// The following functions compute one row each. y may alias x, and dx may alias dy.
template <class C> void softmax_row(RowBands<C>& x, const OperandElements<C>& result) {
  const C max_x = row_max(x);
  Lanes<C> lanes = {};
  x.for_each_band([&](int64_t first, int64_t count, C* v) {
    C* const y = x.output_buffer(result, first, v);
    exp_shifted(v, y, count, max_x);
    lanes.add(count, [=](int64_t i) { return y[i]; });
  });
  const C scale = C(1) / lanes.fold();
  x.for_each_band([&](int64_t first, int64_t count, C* v) {
    C* const y = x.output_buffer(result, first, v);
    // computes the powers again, because later bands have overwritten them
    if (!x.is_single_band()) exp_shifted(v, y, count, max_x);
    for (int64_t i = 0; i < count; ++i) y[i] *= scale;
    x.write(result, first, count, y);
  });
}
template <class C> void log_softmax_row(RowBands<C>& x, const OperandElements<C>& result) {
  const LogSumExp<C> sum = log_sum_exp(x);
  x.for_each_band([&](int64_t first, int64_t count, C* v) {
    C* const y = x.output_buffer(result, first, v);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) y[i] = v[i] - sum.max_x - sum.log;
    x.write(result, first, count, y);
  });
}
/// Computes dx = y (dy - sum(dy y)) for one row.
template <class C> void softmax_backward_row(RowBands<C>& dy, RowBands<C>& y, const OperandElements<C>& result) {
  Lanes<C> lanes = {};
  dy.for_each_band([&](int64_t first, int64_t count, const C* g) {
    const C* const v = y.read(first, count);
    lanes.add(count, [=](int64_t i) { return g[i] * v[i]; });
  });
  const C dot = lanes.fold();
  dy.for_each_band([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.output_buffer(result, first, g);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) dx[i] = v[i] * (g[i] - dot);
    dy.write(result, first, count, dx);
  });
}
/// Computes dx = dy - e^y sum(dy) for one row.
template <class C> void log_softmax_backward_row(RowBands<C>& dy, RowBands<C>& y, const OperandElements<C>& result) {
  Lanes<C> lanes = {};
  dy.for_each_band([&](int64_t, int64_t count, const C* g) { lanes.add(count, [=](int64_t i) { return g[i]; }); });
  const C total = lanes.fold();
  dy.for_each_band([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.output_buffer(result, first, g);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) dx[i] = g[i] - math::exp_of_negative(v[i]) * total;
    dy.write(result, first, count, dx);
  });
}
// Versions for bfloat16 that read their operands in place, because converting bfloat16 takes less time than making a
// copy in float.
void softmax_backward_row(const BFloat16* dy, const BFloat16* y, BFloat16* dx, int64_t n) {
  const float dot = lane_sum<float>(n, [=](int64_t i) { return float(dy[i]) * float(y[i]); });
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = BFloat16(float(y[i]) * (float(dy[i]) - dot));
}
void log_softmax_backward_row(const BFloat16* dy, const BFloat16* y, BFloat16* dx, int64_t n) {
  const float total = lane_sum<float>(n, [=](int64_t i) { return float(dy[i]); });
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = BFloat16(float(dy[i]) - math::exp_of_negative(float(y[i])) * total);
}

// Versions for `width` adjacent columns.
template <class C> void column_max(RowBands<C>& x, int64_t width, C* max_x) {
  for (int64_t c = 0; c < width; ++c) max_x[c] = -C(__builtin_inf());
  x.for_each_band([&](int64_t, int64_t count, const C* v) {
    for (int64_t i = 0; i < count; ++i, v += x.stride())
      for_each_column(width, [&](int64_t c) { max_x[c] = v[c] > max_x[c] ? v[c] : max_x[c]; });
  });
}
/// A matrix of `width` adjacent columns. Its rows are `stride` elements apart.
template <class C> struct ColumnGroup {
  C* data;
  int64_t stride, width;
};
/// Computes y = e^(x - max_x[column]) and adds each power to its column's sum in `lanes`. y may be x. If y_stride is 0,
/// all rows of y share the same memory.
template <class C>
TANDEM_NOINLINE void column_exps(const ColumnGroup<const C>& x, C* y, int64_t y_stride, int64_t first, int64_t n,
                                 const C* max_x, ColumnLanes<C>& lanes) {
  for (int64_t i = 0; i < n; ++i) {
    const C* const from = x.data + i * x.stride;
    C *const to = y + i * y_stride, *const sum = lanes.of(first + i);
    for_each_column(x.width, [&](int64_t c) {
      const C exponential = math::exp_of_negative(from[c] - max_x[c]);
      to[c] = exponential;
      sum[c] += exponential;
    });
  }
}
template <class C> void softmax_columns(RowBands<C>& x, int64_t width, const OperandElements<C>& result) {
  const int64_t stride = x.stride();
  C max_x[kColumnGroup], scale[kColumnGroup];
  column_max(x, width, max_x);
  ColumnLanes<C> lanes;
  const auto exp_shifted = [&](int64_t first, int64_t count, C* v) {
    C* const y = x.output_buffer(result, first, v);
    column_exps<C>({v, stride, width}, y, stride, first, count, max_x, lanes);
    return y;
  };
  x.for_each_band(exp_shifted);
  lanes.fold(x.size(), width, scale);
  for (int64_t c = 0; c < width; ++c) scale[c] = C(1) / scale[c];
  x.for_each_band([&](int64_t first, int64_t count, C* v) {
    C* const y = x.is_single_band() ? x.output_buffer(result, first, v) : exp_shifted(first, count, v);
    for (int64_t i = 0; i < count; ++i)
      for_each_column(width, [row = y + i * stride, &scale](int64_t c) { row[c] *= scale[c]; });
    x.write(result, first, count, y);
  });
}
/// Computes ln sum e^x of each column as two numbers: the maximum `max_x`, and `log_sum` = ln sum e^(x - max_x).
template <class C> void column_log_sum_exp(RowBands<C>& x, int64_t width, C* max_x, C* log_sum) {
  C unused[kColumnGroup];
  column_max(x, width, max_x);
  ColumnLanes<C> lanes;
  x.for_each_band([&](int64_t first, int64_t count, const C* v) {
    column_exps<C>({v, x.stride(), width}, unused, 0, first, count, max_x, lanes);
  });
  lanes.fold(x.size(), width, log_sum);
  for (int64_t c = 0; c < width; ++c) log_sum[c] = math::log(log_sum[c]);
}
template <class C> void log_softmax_columns(RowBands<C>& x, int64_t width, const OperandElements<C>& result) {
  const int64_t stride = x.stride();
  C max_x[kColumnGroup], log_sum[kColumnGroup];
  column_log_sum_exp(x, width, max_x, log_sum);
  x.for_each_band([&](int64_t first, int64_t count, C* v) {
    C* const y = x.output_buffer(result, first, v);
    for (int64_t i = 0; i < count; ++i)
      for_each_column(width, [&, at = i * stride](int64_t c) { y[at + c] = v[at + c] - max_x[c] - log_sum[c]; });
    x.write(result, first, count, y);
  });
}
template <class C>
void softmax_backward_columns(RowBands<C>& dy, RowBands<C>& y, int64_t width, const OperandElements<C>& result) {
  const int64_t stride = dy.stride();
  C dot[kColumnGroup];
  ColumnLanes<C> lanes;
  dy.for_each_band([&](int64_t first, int64_t count, const C* g) {
    const C* const v = y.read(first, count);
    lanes.add(first, count, width, [=](int64_t i, int64_t c) { return g[i * stride + c] * v[i * stride + c]; });
  });
  lanes.fold(dy.size(), width, dot);
  dy.for_each_band([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.output_buffer(result, first, g);
    for (int64_t i = 0; i < count; ++i)
      for_each_column(width, [&, at = i * stride](int64_t c) { dx[at + c] = v[at + c] * (g[at + c] - dot[c]); });
    dy.write(result, first, count, dx);
  });
}
template <class C>
void log_softmax_backward_columns(RowBands<C>& dy, RowBands<C>& y, int64_t width, const OperandElements<C>& result) {
  const int64_t stride = dy.stride();
  C total[kColumnGroup];
  ColumnLanes<C> lanes;
  dy.for_each_band([&](int64_t first, int64_t count, const C* g) {
    lanes.add(first, count, width, [=](int64_t i, int64_t c) { return g[i * stride + c]; });
  });
  lanes.fold(dy.size(), width, total);
  dy.for_each_band([&](int64_t first, int64_t count, C* g) {
    const C* const v = y.read(first, count);
    C* const dx = dy.output_buffer(result, first, g);
    for (int64_t i = 0; i < count; ++i)
      for_each_column(width, [&, at = i * stride](int64_t c) {
        dx[at + c] = g[at + c] - math::exp_of_negative(v[at + c]) * total[c];
      });
    dy.write(result, first, count, dx);
  });
}

/// Operands: y, x.
template <class C>
void run_softmax(const Loop& loop, int64_t begin, int64_t end,
                 void (*row)(RowBands<C>& x, const OperandElements<C>& result),
                 void (*columns)(RowBands<C>& x, int64_t width, const OperandElements<C>& result)) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const OperandElements<C> result(loop, 0), elements(loop, 1);
  if (TransposedRows<C>::is_applicable(n, inner))
    return TransposedRows<C>::for_each_group(begin, end, [&](int64_t first, int64_t width) {
      TransposedRows<C> rows(n, width);
      rows.read(elements, first);
      const OperandElements<C> own = rows.elements();
      RowBands<C> x(own, 0, n, kColumnGroup, kColumnGroup);
      columns(x, kColumnGroup, own);
      rows.write(result, first);
    });
  for (int64_t r = begin; inner == 1 && r < end; ++r) {
    RowBands<C> x(elements, r * n, n);
    row(x, result);
  }
  if (inner == 1) return;
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    RowBands<C> x(elements, first, n, inner, width);
    columns(x, width, result);
  });
}
/// Operands: dx, dy, y.
template <class C>
void run_softmax_backward(const Loop& loop, int64_t begin, int64_t end,
                          void (*row)(RowBands<C>& dy, RowBands<C>& y, const OperandElements<C>& result),
                          void (*bfloat16_row)(const BFloat16* dy, const BFloat16* y, BFloat16* dx, int64_t n),
                          void (*columns)(RowBands<C>& dy, RowBands<C>& y, int64_t width,
                                          const OperandElements<C>& result)) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const OperandElements<C> result(loop, 0), gradient(loop, 1), output(loop, 2);
  if (TransposedRows<C>::is_applicable(n, inner))
    return TransposedRows<C>::for_each_group(begin, end, [&](int64_t first, int64_t width) {
      TransposedRows<C> gradients(n, width), outputs(n, width);
      gradients.read(gradient, first);
      outputs.read(output, first);
      const OperandElements<C> own_gradients = gradients.elements(), own_outputs = outputs.elements();
      RowBands<C> dy(own_gradients, 0, n, kColumnGroup, kColumnGroup), y(own_outputs, 0, n, kColumnGroup, kColumnGroup);
      columns(dy, y, kColumnGroup, own_gradients);
      gradients.write(result, first);
    });
  for (int64_t r = begin; inner == 1 && r < end; ++r) {
    if (loop.dtype == DType::bfloat16) {
      bfloat16_row(data<const BFloat16>(loop, 1) + r * n, data<const BFloat16>(loop, 2) + r * n,
                   data<BFloat16>(loop, 0) + r * n, n);
      continue;
    }
    RowBands<C> dy(gradient, r * n, n), y(output, r * n, n);
    row(dy, y, result);
  }
  if (inner == 1) return;
  for_columns(n, inner, begin, end, [&](int64_t first, int64_t width) {
    RowBands<C> dy(gradient, first, n, inner, width), y(output, first, n, inner, width);
    columns(dy, y, width, result);
  });
}
template <class C> void softmax_body(const Loop& loop, int64_t begin, int64_t end) {
  run_softmax<C>(loop, begin, end, softmax_row<C>, softmax_columns<C>);
}
template <class C> void log_softmax_body(const Loop& loop, int64_t begin, int64_t end) {
  run_softmax<C>(loop, begin, end, log_softmax_row<C>, log_softmax_columns<C>);
}
template <class C> void softmax_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  run_softmax_backward<C>(loop, begin, end, softmax_backward_row<C>, softmax_backward_row, softmax_backward_columns<C>);
}
template <class C> void log_softmax_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  run_softmax_backward<C>(loop, begin, end, log_softmax_backward_row<C>, log_softmax_backward_row,
                          log_softmax_backward_columns<C>);
}

/// Computes the loss of each row in [begin, end) and its weight: the class weight of the row's target, or 0 for
/// ignore_index. Operands: losses, weights, log_prob, target, class weights or none. Scalars: n, ignore_index.
template <class C> void nll_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const OperandElements<C> log_prob(loop, 2);
  const C* const class_weight = data<const C>(loop, 4);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 3)[r];
    const C weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
    data<C>(loop, 0)[r] = t == ignore ? C(0) : -weight * log_prob.get(r * n + t);
    data<C>(loop, 1)[r] = weight;
  }
}
/// Computes the loss of each row in [begin, end) and its weight, as nll_body does, from scores x instead of log_prob.
/// Operands: losses, weights, log_sum, x, target, class weights or none. Scalars: n, ignore_index.
template <class C> void cross_entropy_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const OperandElements<C> elements(loop, 3);
  const C* const class_weight = data<const C>(loop, 5);
  TransposedRows<C>::for_each_group(begin, end, [&](int64_t first, int64_t width) {
    C maxima[kColumnGroup], logs[kColumnGroup];
    if (TransposedRows<C>::is_applicable(n, 1)) {
      TransposedRows<C> rows(n, width);
      rows.read(elements, first);
      const OperandElements<C> own = rows.elements();
      RowBands<C> x(own, 0, n, kColumnGroup, kColumnGroup);
      column_log_sum_exp(x, kColumnGroup, maxima, logs);
    } else {
      for (int64_t i = 0; i < width; ++i) {
        RowBands<C> x(elements, (first + i) * n, n);
        const LogSumExp<C> sum = log_sum_exp(x);
        maxima[i] = sum.max_x;
        logs[i] = sum.log;
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      const int64_t r = first + i, t = data<const int64_t>(loop, 4)[r];
      const C weight = t == ignore ? C(0) : class_weight ? class_weight[t] : C(1);
      data<C>(loop, 0)[r] = t == ignore ? C(0) : weight * (logs[i] - (elements.get(r * n + t) - maxima[i]));
      data<C>(loop, 1)[r] = weight;
      data<C>(loop, 2)[r] = maxima[i] + logs[i];
    }
  });
}
/// Returns the gradient of the final loss with respect to row r's loss. If operand k is undefined, this is dloss[r],
/// where dloss is operand 1. If operand k holds the rows' total weight, the final loss is a mean, and this is *dloss /
/// total weight.
template <class C> C loss_gradient(const Loop& loop, int k, int64_t r) {
  const C *const dloss = data<const C>(loop, 1), *const total = data<const C>(loop, k);
  return total ? *dloss / *total : dloss[r];
}
/// Computes dx for rows [begin, end). Operands: dx, dloss, x, target, weights of the rows, log_sum, total weight or
/// none. Scalars: n, ignore_index.
template <class C> void cross_entropy_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const OperandElements<C> result(loop, 0), elements(loop, 2);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 3)[r];
    if (t == ignore) {
      // Writes zeros instead of multiplying the gradient by 0, because the gradient is infinite if every target is
      // ignored.
      result.set_zero(r * n, n);
      continue;
    }
    const C gradient = loss_gradient<C>(loop, 6, r) * data<const C>(loop, 4)[r], log_sum = data<const C>(loop, 5)[r];
    RowBands<C> x(elements, r * n, n);
    x.for_each_band([&](int64_t first, int64_t count, C* v) {
      C* const dx = x.output_buffer(result, first, v);
      TANDEM_IVDEP
      for (int64_t i = 0; i < count; ++i) dx[i] = gradient * math::exp_of_negative(v[i] - log_sum);
      if (t >= first && t < first + count) dx[t - first] -= gradient;
      x.write(result, first, count, dx);
    });
  }
}
/// Computes the mean loss, and the total weight of the rows. Operands: mean loss, total weight, losses and weights of
/// the rows. Scalar: number of rows. The loop has a single unit of work. Sums are in double, because there may be many
/// rows.
template <class T> void nll_mean_body(const Loop& loop, int64_t, int64_t) {
  const int64_t n = loop.scalars[0].integer;
  const T *const losses = data<const T>(loop, 2), *const weights = data<const T>(loop, 3);
  const double sum = lane_sum<double>(n, [=](int64_t i) { return double(losses[i]); });
  const double total = lane_sum<double>(n, [=](int64_t i) { return double(weights[i]); });
  *data<T>(loop, 0) = T(sum / total);
  *data<T>(loop, 1) = T(total);
}
/// Computes dx for rows [begin, end). Operands: dx, dloss, target, weights of the rows, total weight or none. Scalars:
/// n, ignore_index.
template <class C> void nll_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, ignore = loop.scalars[1].integer;
  const OperandElements<C> result(loop, 0);
  result.set_zero(begin * n, (end - begin) * n);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t t = data<const int64_t>(loop, 2)[r];
    if (t >= 0 && t < n && t != ignore)
      result.set(r * n + t, -loss_gradient<C>(loop, 4, r) * data<const C>(loop, 3)[r]);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(softmax, softmax_body)
TANDEM_COMPUTE_TYPE_LOOP(log_softmax, log_softmax_body)
TANDEM_COMPUTE_TYPE_LOOP(softmax_backward, softmax_backward_body)
TANDEM_COMPUTE_TYPE_LOOP(log_softmax_backward, log_softmax_backward_body)
TANDEM_COMPUTE_TYPE_LOOP(nll, nll_body)
TANDEM_COMPUTE_TYPE_LOOP(cross_entropy, cross_entropy_body)
TANDEM_COMPUTE_TYPE_LOOP(cross_entropy_backward, cross_entropy_backward_body)
TANDEM_DISPATCH_TABLE(nll_mean, nll_mean_body<float>, nll_mean_body<double>)
TANDEM_COMPUTE_TYPE_LOOP(nll_backward, nll_backward_body)
