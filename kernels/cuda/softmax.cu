// Softmax, log-softmax and their gradients along rows, bound by memory bandwidth. Rows of up to 64 KiB are read once: a
// team of a few lanes up to 1024 threads holds the row in registers. Longer rows are read twice: a first pass computes
// the maximum and the sum (Milakov & Gimelshein 2018, arXiv:1805.02867), a second pass the result. If there are few
// long rows, each is cut into chunks.
#include "tandem/kernels/cuda/fault.h"
#include "tandem/kernels/cuda/rows.cuh"
#include "tandem/kernels/softmax.h"

namespace tandem::kernels::cuda {
namespace {

/// Reduction operator: maximum that ignores NaN. (A NaN still reaches the result, through the sum of exponentials.)
template <class T> struct NanIgnoringMaxOp {
  using State = T;
  __device__ static T combine(T a, T b) { return b > a ? b : a; }
};

template <class T, int K>
__global__ void __launch_bounds__(1024)
    softmax_persistent(const T* __restrict__ x, T* __restrict__ y, RowShape shape, bool log) {
  using C = OpMath<T>;
  C held[K];
  shape.load<K>(x, -C(__builtin_inf()), held);
  C peak = held[0];
  for (int k = 1; k < K; ++k) peak = held[k] > peak ? held[k] : peak;
  peak = team_reduce(NanIgnoringMaxOp<C>(), peak);
  C sum = C(0);
  if (log) {
    for (int k = 0; k < K; ++k) sum += math::exp(held[k] - peak);
    const C log_sum = math::log(team_reduce(SumOp<C>(), sum));
    for (int k = 0; k < K; ++k)
      held[k] = held[k] - peak - log_sum;  // the order of the subtractions matters: see kernels/cpu/loops/softmax.cpp
  } else {
    for (int k = 0; k < K; ++k) {
      held[k] = math::exp(held[k] - peak);
      sum += held[k];
    }
    const C scale = C(1) / team_reduce(SumOp<C>(), sum);
    for (int k = 0; k < K; ++k) held[k] *= scale;
  }
  shape.store<K>(y, held);
}

/// Gradient of softmax, dx = y * (dy - sum(dy * y)), or of log-softmax, dx = dy - e^y * sum(dy).
template <class T, int K>
__global__ void __launch_bounds__(1024) softmax_backward_persistent(const T* __restrict__ dy, const T* __restrict__ y,
                                                                    T* __restrict__ dx, RowShape shape, bool log) {
  using C = OpMath<T>;
  C grad[K], out[K];
  shape.load<K>(dy, C(0), grad);
  shape.load<K>(y, C(0), out);
  C sum = C(0);
  for (int k = 0; k < K; ++k) sum += log ? grad[k] : grad[k] * out[k];
  sum = team_reduce(SumOp<C>(), sum);
  for (int k = 0; k < K; ++k) out[k] = log ? grad[k] - math::exp(out[k]) * sum : out[k] * (grad[k] - sum);
  shape.store<K>(dx, out);
}

/// Reduction operator that computes the maximum (peak) and the sum of e^(x - peak) in one pass.
template <class T> struct OnlineSoftmaxOp {
  struct State {
    T peak, sum;
  };
  __device__ static State identity() { return {-T(__builtin_inf()), T(0)}; }
  __device__ static State combine(const State& a, const State& b) {
    const T peak = b.peak > a.peak ? b.peak : a.peak;
    return {peak, scaled(a, peak) + scaled(b, peak)};
  }
  template <int N> __device__ static void accumulate(State& state, const Pack<T, N>& x) {
    T peak = state.peak;
    for (int v = 0; v < N; ++v) peak = x.at[v] > peak ? x.at[v] : peak;
    if (peak > state.peak) state = {peak, scaled(state, peak)};
    for (int v = 0; v < N; ++v) state.sum += x.at[v] == -T(__builtin_inf()) ? T(0) : math::exp(x.at[v] - peak);
  }

 private:
  __device__ static T scaled(const State& a, T peak) {
    return a.peak == peak ? a.sum : a.sum * math::exp(a.peak - peak);
  }
};

template <class T>
__global__ void softmax_long(const T* __restrict__ x, T* __restrict__ y,
                             typename OnlineSoftmaxOp<OpMath<T>>::State* parts, ChunkShape shape, LongRowStage stage,
                             bool log) {
  const int64_t start = shape.row() * shape.n + shape.first();
  using C = OpMath<T>;
  typename OnlineSoftmaxOp<C>::State state = OnlineSoftmaxOp<C>::identity();
  if (stage == LongRowStage::finish) {
    state = combine_row_parts<OnlineSoftmaxOp<C>>(shape, parts);
  } else {
    shape.for_each_pack(x + start, [&](int64_t, const auto& pack) { OnlineSoftmaxOp<C>::accumulate(state, pack); });
    state = team_reduce(OnlineSoftmaxOp<C>(), state);
    if (stage == LongRowStage::parts) {
      if (threadIdx.x == 0) parts[blockIdx.x] = state;
      return;
    }
  }
  const C log_sum = math::log(state.sum), scale = C(1) / state.sum;
  shape.for_each_pack(x + start, [&](int64_t i, auto pack) {
    for (C& v : pack.at) v = log ? v - state.peak - log_sum : math::exp(v - state.peak) * scale;
    store_pack_as(y + start + i, pack, shape.aligned);
  });
}

template <class T>
__global__ void softmax_backward_long(const T* __restrict__ dy, const T* __restrict__ y, T* __restrict__ dx,
                                      OpMath<T>* parts, ChunkShape shape, LongRowStage stage, bool log) {
  using C = OpMath<T>;
  const int64_t start = shape.row() * shape.n + shape.first();
  C sum = C(0);
  if (stage == LongRowStage::finish) {
    sum = combine_row_parts<SumOp<C>>(shape, parts);
  } else {
    shape.for_each_pack_pair(dy + start, y + start, [&](int64_t, const auto& a, const auto& b) {
      constexpr int kWidth = static_cast<int>(sizeof(a.at) / sizeof(C));
      for (int v = 0; v < kWidth; ++v) sum += log ? a.at[v] : a.at[v] * b.at[v];
    });
    sum = team_reduce(SumOp<C>(), sum);
    if (stage == LongRowStage::parts) {
      if (threadIdx.x == 0) parts[blockIdx.x] = sum;
      return;
    }
  }
  shape.for_each_pack_pair(dy + start, y + start, [&](int64_t i, const auto& a, auto b) {
    constexpr int kWidth = static_cast<int>(sizeof(a.at) / sizeof(C));
    for (int v = 0; v < kWidth; ++v) b.at[v] = log ? a.at[v] - math::exp(b.at[v]) * sum : b.at[v] * (a.at[v] - sum);
    store_pack_as(dx + start + i, b, shape.aligned);
  });
}

// ---- along n of (outer, n, inner): a block has 32 neighbouring columns, with eight threads per column

constexpr int kColumns = 32, kThreadsPerColumn = 8;

struct ColumnShape {
  int64_t n, inner, count;
  __device__ int64_t column() const { return int64_t(blockIdx.x) * kColumns + threadIdx.x; }
  /// Returns the offset, in elements, of the first element of this thread's column.
  __device__ int64_t start() const { return quotient(column(), inner) * n * inner + remainder(column(), inner); }
};
/// Combines the states of the eight threads of a column, in order. Every thread gets the result.
template <class Op> __device__ typename Op::State column_reduce(Op, const typename Op::State& mine) {
  TANDEM_SHARED(typename Op::State, parts, [kThreadsPerColumn][kColumns]);
  parts[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  typename Op::State total = parts[0][threadIdx.x];
  for (int k = 1; k < kThreadsPerColumn; ++k) total = Op::combine(total, parts[k][threadIdx.x]);
  return total;
}
template <class T>
__global__ void __launch_bounds__(kColumns* kThreadsPerColumn)
    softmax_columns(const T* __restrict__ x, T* __restrict__ y, ColumnShape shape, bool log) {
  const bool inside = shape.column() < shape.count;
  const int64_t start = inside ? shape.start() : 0, n = inside ? shape.n : 0;
  using C = OpMath<T>;
  typename OnlineSoftmaxOp<C>::State state = OnlineSoftmaxOp<C>::identity();
  for (int64_t i = threadIdx.y; i < n; i += kThreadsPerColumn)
    OnlineSoftmaxOp<C>::accumulate(state, Pack<C, 1>{{C(x[start + i * shape.inner])}});
  state = column_reduce(OnlineSoftmaxOp<C>(), state);
  const C log_sum = math::log(state.sum), scale = C(1) / state.sum;
  for (int64_t i = threadIdx.y; i < n; i += kThreadsPerColumn) {
    const C v = C(x[start + i * shape.inner]);
    y[start + i * shape.inner] = T(log ? v - state.peak - log_sum : math::exp(v - state.peak) * scale);
  }
}
template <class T>
__global__ void __launch_bounds__(kColumns* kThreadsPerColumn)
    softmax_backward_columns(const T* __restrict__ dy, const T* __restrict__ y, T* __restrict__ dx, ColumnShape shape,
                             bool log) {
  const bool inside = shape.column() < shape.count;
  const int64_t start = inside ? shape.start() : 0, n = inside ? shape.n : 0;
  using C = OpMath<T>;
  C sum = C(0);
  for (int64_t i = threadIdx.y; i < n; i += kThreadsPerColumn) {
    const int64_t at = start + i * shape.inner;
    sum += log ? C(dy[at]) : C(dy[at]) * C(y[at]);
  }
  sum = column_reduce(SumOp<C>(), sum);
  for (int64_t i = threadIdx.y; i < n; i += kThreadsPerColumn) {
    const int64_t at = start + i * shape.inner;
    dx[at] = T(log ? C(dy[at]) - math::exp(C(y[at])) * sum : C(y[at]) * (C(dy[at]) - sum));
  }
}
/// Calls f(launch shape, column shape) for x (outer, n, inner).
template <class F> void launch_columns(const Tensor& x, F f) {
  const ColumnShape shape{x.size(1), x.size(2), x.size(0) * x.size(2)};
  f(LaunchShape{checked_grid_size(ceil_div(shape.count, kColumns)), dim3(kColumns, kThreadsPerColumn)}, shape);
}

/// Computes the cross entropy loss of each row from the row's log-sum-exp, which is the sum of two terms: the largest x
/// (peak), and the logarithm of the sum of e^(x - peak).
template <class T> struct CrossEntropy {
  using C = OpMath<T>;
  const T* x;
  const int64_t* target;
  const C* class_weight;  // null: all weights are 1
  C *losses, *weights, *log_sum;
  int64_t ignore_index;
  IndexErrorReporter report;
  __device__ void write_result(int64_t row, int64_t n, C peak, C log) const {
    const int64_t t = target[row];
    const bool counts = t != ignore_index, inside = !is_out_of_range(t, n);
    if (counts && !inside) report(row, t, n);
    const C weight = counts && inside ? (class_weight ? class_weight[t] : C(1)) : C(0);
    losses[row] = counts && inside ? weight * (log - (C(x[row * n + t]) - peak)) : C(0);
    weights[row] = weight;
    log_sum[row] = peak + log;
  }
};

template <class T, int K>
__global__ void __launch_bounds__(1024) cross_entropy_persistent(CrossEntropy<T> loss, RowShape shape) {
  using C = OpMath<T>;
  C held[K];
  shape.load<K>(loss.x, -C(__builtin_inf()), held);
  C peak = held[0], sum = C(0);
  for (int k = 1; k < K; ++k) peak = held[k] > peak ? held[k] : peak;
  peak = team_reduce(NanIgnoringMaxOp<C>(), peak);
  for (int k = 0; k < K; ++k) sum += math::exp(held[k] - peak);
  sum = team_reduce(SumOp<C>(), sum);
  if (threadIdx.x == 0 && shape.row() < shape.rows) loss.write_result(shape.row(), shape.n, peak, math::log(sum));
}

template <class T>
__global__ void cross_entropy_long(CrossEntropy<T> loss, typename OnlineSoftmaxOp<OpMath<T>>::State* parts,
                                   ChunkShape shape, LongRowStage stage) {
  if (stage == LongRowStage::finish && shape.first() > 0) return;  // only the first block of a row writes the loss
  using ReduceOp = OnlineSoftmaxOp<OpMath<T>>;
  typename ReduceOp::State state = ReduceOp::identity();
  if (stage == LongRowStage::finish) {
    state = combine_row_parts<ReduceOp>(shape, parts);
  } else {
    shape.for_each_pack(loss.x + shape.row() * shape.n + shape.first(),
                        [&](int64_t, const auto& pack) { ReduceOp::accumulate(state, pack); });
    state = team_reduce(ReduceOp(), state);
  }
  if (threadIdx.x > 0) return;
  if (stage == LongRowStage::parts)
    parts[blockIdx.x] = state;
  else
    loss.write_result(shape.row(), shape.n, state.peak, math::log(state.sum));
}

/// Gradient of cross entropy, elementwise, with a team of threads for each row.
template <class T>
__global__ void cross_entropy_backward_rows(const OpMath<T>* __restrict__ dloss, const OpMath<T>* __restrict__ total,
                                            const T* __restrict__ x, const int64_t* __restrict__ target,
                                            const OpMath<T>* __restrict__ weights,
                                            const OpMath<T>* __restrict__ log_sum, T* __restrict__ dx,
                                            int64_t ignore_index, RowShape shape) {
  using C = OpMath<T>;
  constexpr int kWidth = kPack<T>;
  const int64_t row = shape.row(), n = shape.n;
  if (row >= shape.rows) return;
  const int64_t t = target[row];
  const bool ignored = t == ignore_index;  // then dx is 0, even if `grad` is infinite
  const C grad = loss_gradient(dloss, total, row) * weights[row], log_norm = log_sum[row];
  const auto gradient = [&](C v, int64_t i) {
    const C here = grad * math::exp(v - log_norm);
    return T(ignored ? C(0) : i == t ? here - grad : here);
  };
  const T* const from = x + row * n;
  T* const to = dx + row * n;
  if (shape.aligned) {
    for_each_pipelined<4>(
        threadIdx.x, blockDim.x, n / kWidth, [&](int64_t p) { return load_pack<T, kWidth>(from + p * kWidth, true); },
        [&](int64_t p, Pack<T, kWidth> pack, int) {
          for (int v = 0; v < kWidth; ++v) pack.at[v] = gradient(C(pack.at[v]), p * kWidth + v);
          store_pack(to + p * kWidth, pack, true);
        });
  } else {
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = gradient(C(from[i]), i);
  }
}

void softmax_rows(const char* name, const Tensor& x, bool log, Tensor& y) {
  if (x.numel() == 0) return;
  const int64_t rows = x.size(0), n = x.size(1);
  visit_floating(name, x.dtype(), [&]<class T>() {
    const T* const from = x.data<T>();
    T* const to = y.data<T>();
    if (x.dim() == 3 && x.size(2) > 1)
      return launch_columns(x, [&](const LaunchShape& launched, const ColumnShape& shape) {
        launch(name, softmax_columns<T>, launched, x.device(), from, to, shape, log);
      });
    if (fits_in_registers<T>(n, 1024))
      return visit_persistent<T>(rows, n, 1, [&]<int K>(const LaunchShape& shape) {
        launch(name, softmax_persistent<T, K>, shape, x.device(), from, to, row_shape<T>(rows, n, {from, to}), log);
      });
    using State = typename OnlineSoftmaxOp<OpMath<T>>::State;
    const ChunkShape shape = chunk_shape<T>(rows, n, {from, to});
    launch_long_rows(
        rows, shape, sizeof(State), x.device(), [&](const LaunchShape& launched, LongRowStage stage, void* parts) {
          launch(name, softmax_long<T>, launched, x.device(), from, to, static_cast<State*>(parts), shape, stage, log);
        });
  });
}
void softmax_backward_rows(const char* name, const Tensor& dy, const Tensor& y, bool log, Tensor& dx) {
  if (y.numel() == 0) return;
  const int64_t rows = y.size(0), n = y.size(1);
  visit_floating(name, y.dtype(), [&]<class T>() {
    const T *const grad = dy.data<T>(), *const out = y.data<T>();
    T* const to = dx.data<T>();
    if (y.dim() == 3 && y.size(2) > 1)
      return launch_columns(y, [&](const LaunchShape& launched, const ColumnShape& shape) {
        launch(name, softmax_backward_columns<T>, launched, y.device(), grad, out, to, shape, log);
      });
    if (fits_in_registers<T>(n, 1024))
      return visit_persistent<T>(rows, n, 1, [&]<int K>(const LaunchShape& shape) {
        launch(name, softmax_backward_persistent<T, K>, shape, y.device(), grad, out, to,
               row_shape<T>(rows, n, {grad, out, to}), log);
      });
    const ChunkShape shape = chunk_shape<T>(rows, n, {grad, out, to});
    using Sum = OpMath<T>;
    launch_long_rows(rows, shape, sizeof(Sum), y.device(),
                     [&](const LaunchShape& launched, LongRowStage stage, void* parts) {
                       launch(name, softmax_backward_long<T>, launched, y.device(), grad, out, to,
                              static_cast<Sum*>(parts), shape, stage, log);
                     });
  });
}

}  // namespace

void softmax(const Tensor& x, Tensor& y) { softmax_rows("softmax", x, false, y); }
void log_softmax(const Tensor& x, Tensor& y) { softmax_rows("log_softmax", x, true, y); }
void softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx) {
  softmax_backward_rows("softmax_backward", dy, y, false, dx);
}
void log_softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx) {
  softmax_backward_rows("log_softmax_backward", dy, y, true, dx);
}

void cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,
                   Tensor& weights, Tensor& log_sum) {
  const int64_t rows = x.size(0), n = x.size(1);
  if (rows == 0) return;
  visit_floating("cross_entropy", x.dtype(), [&]<class T>() {
    using C = OpMath<T>;
    const CrossEntropy<T> loss{
        x.data<T>(),       target.data<int64_t>(), data_or_null<C>(weight),      losses.data<C>(), weights.data<C>(),
        log_sum.data<C>(), ignore_index,           {"cross_entropy", x.device()}};
    if (fits_in_registers<T>(n, 1024))
      return visit_persistent<T>(rows, n, 1, [&]<int K>(const LaunchShape& shape) {
        launch("cross_entropy", cross_entropy_persistent<T, K>, shape, x.device(), loss,
               row_shape<T>(rows, n, {loss.x}));
      });
    using State = typename OnlineSoftmaxOp<OpMath<T>>::State;
    const ChunkShape shape = chunk_shape<T>(rows, n, {loss.x});
    launch_long_rows(rows, shape, sizeof(State), x.device(),
                     [&](const LaunchShape& launched, LongRowStage stage, void* parts) {
                       launch("cross_entropy", cross_entropy_long<T>, launched, x.device(), loss,
                              static_cast<State*>(parts), shape, stage);
                     });
  });
}

void cross_entropy_backward(const Tensor& dloss, const Tensor& total, const Tensor& x, const Tensor& target,
                            const Tensor& weights, const Tensor& log_sum, int64_t ignore_index, Tensor& dx) {
  if (dx.numel() == 0) return;
  const int64_t rows = x.size(0), n = x.size(1);
  visit_floating("cross_entropy_backward", x.dtype(), [&]<class T>() {
    using C = OpMath<T>;
    const dim3 block = team_block_dim(next_power_of_two(ceil_div(n, 4 * kPack<T>), 1, 256), rows);
    launch("cross_entropy_backward", cross_entropy_backward_rows<T>,
           {checked_grid_size(ceil_div(rows, block.y)), block}, x.device(), dloss.data<C>(), data_or_null<C>(total),
           x.data<T>(), target.data<int64_t>(), weights.data<C>(), log_sum.data<C>(), dx.data<T>(), ignore_index,
           row_shape<T>(rows, n, {x.data<T>(), dx.data<T>()}));
  });
}

}  // namespace tandem::kernels::cuda
