// Layer normalisation, bound by memory bandwidth. A team is a group of threads that share a row: it reads the row once,
// and holds it in registers. In backward, a team processes several rows in turn and sums the weight and bias gradients
// over its rows in registers; a second launch adds the sums of all teams. Rows that are too long for registers are read
// twice.
#include <algorithm>

#include "tandem/kernels/cuda/moments.cuh"
#include "tandem/kernels/cuda/rows.cuh"
#include "tandem/kernels/norm.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cuda {
namespace {

template <class T> struct LayerNormForward {
  using C = OpMath<T>;
  const T* x;
  const C *weight, *bias;  // null means 1 and 0
  T* y;
  C *mean, *rstd, eps;
};

template <class T, int K>
__global__ void __launch_bounds__(1024) layer_norm_persistent(LayerNormForward<T> a, RowShape shape) {
  const int64_t n = shape.n, row = shape.row();
  using C = OpMath<T>;
  C held[K];
  shape.load<K>(a.x, C(0), held);
  C sum = C(0), squares = C(0);
  for (int k = 0; k < K; ++k) sum += held[k];
  const C mean = team_reduce(SumOp<C>(), sum) / C(n);
  for (int k = 0; k < K; ++k) {
    held[k] -= mean;
    if (shape.position<T>(k) < n) squares += held[k] * held[k];
  }
  const C rstd = C(1) / math::sqrt(team_reduce(SumOp<C>(), squares) / C(n) + a.eps);
  C factor[K];
  shape.load_row<T, K>(a.weight, C(1), factor);
  for (int k = 0; k < K; ++k) held[k] = held[k] * rstd * factor[k];
  shape.load_row<T, K>(a.bias, C(0), factor);
  for (int k = 0; k < K; ++k) held[k] += factor[k];
  shape.store<K>(a.y, held);
  if (threadIdx.x == 0 && row < shape.rows) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T>
__global__ void layer_norm_long(LayerNormForward<T> a, Moments::State* parts, ChunkShape shape, LongRowStage stage) {
  using C = OpMath<T>;
  const int64_t first = shape.first(), start = shape.row() * shape.n + first;
  Moments::State state;
  if (stage == LongRowStage::finish) {
    state = combine_row_parts<Moments>(shape, parts);
  } else {
    ShiftedSums<C> sums;
    shape.for_each_pack(a.x + start, [&](int64_t, const auto& pack) { sums.accumulate(pack); });
    state = team_reduce(Moments(), sums.state());
    if (stage == LongRowStage::parts) {
      if (threadIdx.x == 0) parts[blockIdx.x] = state;
      return;
    }
  }
  const C mean = C(state.mean), rstd = C(1) / math::sqrt(C(state.squares / state.count) + a.eps);
  shape.for_each_pack(a.x + start, [&](int64_t i, auto pack) {
    int64_t at = first + i;
    for (C& v : pack.at) {
      v = (v - mean) * rstd * (a.weight ? a.weight[at] : C(1)) + (a.bias ? a.bias[at] : C(0));
      ++at;
    }
    store_pack_as(a.y + start + i, pack, shape.aligned);
  });
  if (threadIdx.x == 0 && first == 0) {
    a.mean[shape.row()] = mean;
    a.rstd[shape.row()] = rstd;
  }
}

template <class T> struct LayerNormBackward {
  using C = OpMath<T>;
  const T *dy, *x;
  const C *mean, *rstd, *weight;  // weight: null means 1
  T* dx;
  C *weight_partials,
      *bias_partials;     // partial sums of the gradients of weight and bias, one row for each team; or null
  int64_t rows_per_team;  // number of rows per team
};

/// Computes dx = rstd * (g - sum(g) / n - (x - mean) * rstd^2 * sum(g * (x - mean)) / n), where g = dy * weight.
template <class T> struct InputGradient {
  T rstd, mean_term, var_term;
  __device__ InputGradient(const typename PairSumOp<T>::State& sums, T rstd, int64_t n)
      : rstd(rstd), mean_term(sums.first / T(n)), var_term(sums.second * rstd * rstd / T(n)) {}
  __device__ T operator()(T g, T off) const { return rstd * (g - mean_term - off * var_term); }
};

template <class T, int K>
__global__ void __launch_bounds__(512) layer_norm_backward_persistent(LayerNormBackward<T> a, RowShape shape) {
  const int64_t n = shape.n, team = shape.row();
  using C = OpMath<T>;
  C dweight[K], dbias[K];
  for (int k = 0; k < K; ++k) dweight[k] = dbias[k] = C(0);
  for (int64_t step = 0; step < a.rows_per_team; ++step) {
    const int64_t row = team * a.rows_per_team + step;
    const bool valid = row < shape.rows;
    C g[K], off[K];
    shape.load_row<T, K>(valid ? a.dy + row * n : nullptr, C(0), g);
    shape.load_row<T, K>(valid ? a.x + row * n : nullptr, C(0), off);
    const C mean = valid ? a.mean[row] : C(0), rstd = valid ? a.rstd[row] : C(0);
    for (int k = 0; k < K; ++k) {
      off[k] -= mean;
      dweight[k] += g[k] * (off[k] * rstd);  // g is 0 after the end of the row, so this adds 0
      dbias[k] += g[k];
    }
    if (a.weight) {
      C factor[K];
      shape.load_row<T, K>(a.weight, C(0), factor);
      for (int k = 0; k < K; ++k) g[k] *= factor[k];
    }
    typename PairSumOp<C>::State sums = PairSumOp<C>::identity();
    for (int k = 0; k < K; ++k) {
      sums.first += g[k];
      sums.second += g[k] * off[k];
    }
    const InputGradient<C> input_gradient(team_reduce(PairSumOp<C>(), sums), rstd, n);
    for (int k = 0; k < K; ++k) g[k] = input_gradient(g[k], off[k]);
    if (valid) shape.store_row<T, K>(a.dx + row * n, g);
  }
  if (team * a.rows_per_team >= shape.rows) return;
  if (a.weight_partials) shape.store_row<T, K>(a.weight_partials + team * n, dweight);
  if (a.bias_partials) shape.store_row<T, K>(a.bias_partials + team * n, dbias);
}

template <class T>
__global__ void layer_norm_backward_long(LayerNormBackward<T> a, typename PairSumOp<OpMath<T>>::State* parts,
                                         ChunkShape shape, LongRowStage stage) {
  using C = OpMath<T>;
  const int64_t row = shape.row(), first = shape.first(), start = row * shape.n + first;
  const C mean = a.mean[row], rstd = a.rstd[row];
  const auto gradient = [&](C dy, int64_t i) { return a.weight ? dy * a.weight[first + i] : dy; };
  typename PairSumOp<C>::State sums = PairSumOp<C>::identity();
  if (stage == LongRowStage::finish) {
    sums = combine_row_parts<PairSumOp<C>>(shape, parts);
  } else {
    shape.for_each_pack_pair(a.dy + start, a.x + start, [&](int64_t i, const auto& dy, const auto& x) {
      constexpr int kWidth = static_cast<int>(sizeof(dy.at) / sizeof(C));
      for (int v = 0; v < kWidth; ++v) {
        const C g = gradient(dy.at[v], i + v);
        sums.first += g;
        sums.second += g * (x.at[v] - mean);
      }
    });
    sums = team_reduce(PairSumOp<C>(), sums);
    if (stage == LongRowStage::parts) {
      if (threadIdx.x == 0) parts[blockIdx.x] = sums;
      return;
    }
  }
  const InputGradient<C> input_gradient(sums, rstd, shape.n);
  shape.for_each_pack_pair(a.dy + start, a.x + start, [&](int64_t i, auto dy, const auto& x) {
    constexpr int kWidth = static_cast<int>(sizeof(dy.at) / sizeof(C));
    for (int v = 0; v < kWidth; ++v) dy.at[v] = input_gradient(gradient(dy.at[v], i + v), x.at[v] - mean);
    store_pack_as(a.dx + start + i, dy, shape.aligned);
  });
}
/// Sums the weight and bias gradients over groups of `rows_per_team` rows, with one thread per column. blockIdx.x is
/// group * strips + strip, where a strip is the columns of one block.
template <class T>
__global__ void layer_norm_column_sums(LayerNormBackward<T> a, int64_t rows, int64_t n, int64_t strips) {
  const int64_t group = quotient(blockIdx.x, strips), column = (blockIdx.x - group * strips) * blockDim.x + threadIdx.x;
  if (column >= n) return;
  const int64_t last = math::min(rows, (group + 1) * a.rows_per_team);
  using C = OpMath<T>;
  C dweight = C(0), dbias = C(0);
#pragma unroll 4
  for (int64_t row = group * a.rows_per_team; row < last; ++row) {
    const C dy = C(a.dy[row * n + column]);
    dweight += dy * ((C(a.x[row * n + column]) - a.mean[row]) * a.rstd[row]);
    dbias += dy;
  }
  if (a.weight_partials) a.weight_partials[group * n + column] = dweight;
  if (a.bias_partials) a.bias_partials[group * n + column] = dbias;
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y, Tensor& mean,
                Tensor& rstd) {
  const int64_t rows = x.size(0), n = x.size(1);
  if (rows == 0) return;
  visit_floating("layer_norm", x.dtype(), [&]<class T>() {
    using C = OpMath<T>;
    const LayerNormForward<T> all{x.data<T>(), data_or_null<C>(weight), data_or_null<C>(bias),
                                  y.data<T>(), mean.data<C>(),          rstd.data<C>(),
                                  C(eps)};
    if (fits_in_registers<T>(n, 1024))
      return visit_persistent<T>(rows, n, 1, [&]<int K>(const LaunchShape& shape) {
        launch("layer_norm", layer_norm_persistent<T, K>, shape, x.device(), all,
               row_shape<T>(rows, n, {all.x, all.y, all.weight, all.bias}));
      });
    const ChunkShape shape = chunk_shape<T>(rows, n, {all.x, all.y});
    launch_long_rows(rows, shape, sizeof(Moments::State), x.device(),
                     [&](const LaunchShape& launched, LongRowStage stage, void* parts) {
                       launch("layer_norm", layer_norm_long<T>, launched, x.device(), all,
                              static_cast<Moments::State*>(parts), shape, stage);
                     });
  });
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, Tensor& dx, Tensor& dweight, Tensor& dbias) {
  const int64_t rows = x.size(0), n = x.size(1);
  // Choose `rows_per_team`, the number of rows per team. If it is large, a team processes many rows one after another,
  // which takes time. If it is small, there are many partial sums of the weight and bias gradients, which take memory.
  // These are cheap if x fits into the cache, but can be larger than x if x has a half type.
  const int64_t least = rows * n <= 1 << 21 && !is_reduced_floating_point(x.dtype()) ? 2 : 8;
  const int64_t rows_per_team = std::clamp<int64_t>(ceil_div(rows * n, 1 << 22), least, 1024),
                groups = ceil_div(rows, rows_per_team);
  const auto empty_sums = [&](const Tensor& sum) {
    return sum.defined() ? core::empty({1, groups, n}, sum.dtype(), x.device()) : Tensor();
  };
  const Tensor weight_partials = empty_sums(dweight), bias_partials = empty_sums(dbias);
  if (x.numel() > 0)
    visit_floating("layer_norm_backward", x.dtype(), [&]<class T>() {
      using C = OpMath<T>;
      const LayerNormBackward<T> all{dy.data<T>(),
                                     x.data<T>(),
                                     mean.data<C>(),
                                     rstd.data<C>(),
                                     data_or_null<C>(weight),
                                     dx.data<T>(),
                                     data_or_null<C>(weight_partials),
                                     data_or_null<C>(bias_partials),
                                     rows_per_team};
      if (fits_in_registers<T>(n, 512))
        return visit_persistent<T>(rows, n, rows_per_team, [&]<int K>(const LaunchShape& shape) {
          launch("layer_norm_backward", layer_norm_backward_persistent<T, K>, shape, x.device(), all,
                 row_shape<T>(rows, n, {all.dy, all.x, all.dx, all.weight, all.weight_partials, all.bias_partials}));
        });
      using State = typename PairSumOp<C>::State;
      const ChunkShape shape = chunk_shape<T>(rows, n, {all.dy, all.x, all.dx});
      launch_long_rows(rows, shape, sizeof(State), x.device(),
                       [&](const LaunchShape& launched, LongRowStage stage, void* parts) {
                         launch("layer_norm_backward", layer_norm_backward_long<T>, launched, x.device(), all,
                                static_cast<State*>(parts), shape, stage);
                       });
      const int64_t strips = ceil_div(n, 256);
      if (all.weight_partials || all.bias_partials)
        launch("layer_norm_backward", layer_norm_column_sums<T>, {checked_grid_size(strips * groups), dim3(256)},
               x.device(), all, rows, n, strips);
    });
  const auto finish = [&](const Tensor& parts, const Tensor& total) {
    if (!total.defined()) return;
    Tensor y = core::try_view(total, {1, n});
    sum(parts, y);
  };
  finish(weight_partials, dweight);
  finish(bias_partials, dbias);
}

}  // namespace tandem::kernels::cuda
