// Negative log likelihood of class indices, and its gradient. The speed of the gradient is limited by writing each row
// once.
#include "tandem/kernels/cuda/fault.h"
#include "tandem/kernels/cuda/moments.cuh"
#include "tandem/kernels/cuda/rows.cuh"
#include "tandem/kernels/nll.h"

namespace tandem::kernels::cuda {
namespace {

template <class T> struct NllRows {
  const T* log_prob;
  const int64_t* target;
  const OpMath<T>* class_weight;  // null: all weights are 1
  OpMath<T>*losses, *weights;
  int64_t rows, n, ignore_index;
  IndexErrorReporter report;
};
template <class T> __global__ void nll_rows(NllRows<T> a) {
  const int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= a.rows) return;
  const int64_t t = a.target[row];
  using C = OpMath<T>;
  C loss = C(0), weight = C(0);
  if (t != a.ignore_index) {
    if (is_out_of_range(t, a.n)) {
      a.report(row, t, a.n);
    } else {
      weight = a.class_weight ? a.class_weight[t] : C(1);
      loss = -weight * C(a.log_prob[row * a.n + t]);
    }
  }
  a.losses[row] = loss;
  a.weights[row] = weight;
}

using TwoSums = PairSumOp<double>;  // sums of the rows' losses and weights, in double because there may be many rows
/// Sums the losses of the rows, and their weights; each block sums one chunk of `length` elements. If `from` is not
/// null, it adds the partial sums in `from` instead. Writes the sums to `parts`. If `parts` is null, there is only one
/// block, which writes the mean loss and the total weight.
template <class T>
__global__ void nll_mean_chunk(const T* __restrict__ losses, const T* __restrict__ weights, const TwoSums::State* from,
                               int64_t n, int64_t length, TwoSums::State* parts, T* loss, T* total) {
  const int64_t end = math::min(n, (int64_t(blockIdx.x) + 1) * length);
  TwoSums::State state = TwoSums::identity();
  for (int64_t i = blockIdx.x * length + threadIdx.x; i < end; i += blockDim.x)
    state = TwoSums::combine(state, from ? from[i] : TwoSums::State{double(losses[i]), double(weights[i])});
  state = block_reduce(TwoSums(), state);
  if (threadIdx.x > 0) return;
  if (parts) {
    parts[blockIdx.x] = state;
  } else {
    *loss = T(state.first / state.second);
    *total = T(state.second);
  }
}

/// Writes the gradient dx of nll, with a team of threads for each row.
template <class T>
__global__ void nll_backward_rows(const OpMath<T>* __restrict__ dloss, const OpMath<T>* __restrict__ total,
                                  const int64_t* __restrict__ target, const OpMath<T>* __restrict__ weights,
                                  T* __restrict__ dx, int64_t rows, int64_t n, int64_t ignore_index, bool aligned) {
  constexpr int kWidth = kPack<T>;
  const int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int64_t t = target[row];
  const T grad = T(t == ignore_index ? OpMath<T>(0) : -loss_gradient(dloss, total, row) * weights[row]);
  T* const to = dx + row * n;
  if (aligned)
    for (int64_t i = int64_t(threadIdx.x) * kWidth; i < n; i += int64_t(blockDim.x) * kWidth) {
      Pack<T, kWidth> pack;
#pragma unroll
      for (int v = 0; v < kWidth; ++v) pack.at[v] = i + v == t ? grad : T(0);
      store_pack(to + i, pack, true);
    }
  else
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = i == t ? grad : T(0);
}

}  // namespace

void nll(const Tensor& log_prob, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,
         Tensor& weights) {
  const int64_t rows = log_prob.size(0), block = next_power_of_two(rows, 32, 256);
  if (rows == 0) return;
  visit_floating("nll_loss", log_prob.dtype(), [&]<class T>() {
    using C = OpMath<T>;
    const NllRows<T> all{log_prob.data<T>(), target.data<int64_t>(), data_or_null<C>(weight),
                         losses.data<C>(),   weights.data<C>(),      rows,
                         log_prob.size(1),   ignore_index,           {"nll_loss", log_prob.device()}};
    launch("nll", nll_rows<T>, {checked_grid_size(ceil_div(rows, block)), dim3(static_cast<unsigned>(block))},
           log_prob.device(), all);
  });
}

void nll_mean(const Tensor& losses, const Tensor& weights, Tensor& loss, Tensor& total) {
  constexpr int64_t kLength = 8192;
  const int64_t n = losses.numel(), num_chunks = n > 2 * kLength ? ceil_div(n, kLength) : 1;
  const Device device = losses.device();
  const auto average = [&]<class T>() {
    using State = TwoSums::State;
    const auto pass = [&](int64_t count, int64_t blocks, const State* from, State* parts) {
      const auto threads = static_cast<unsigned>(next_power_of_two(ceil_div(count / blocks, 4), 32, 256));
      launch("nll_mean", nll_mean_chunk<T>, {checked_grid_size(blocks), dim3(threads)}, device, losses.data<T>(),
             weights.data<T>(), from, count, ceil_div(count, blocks), parts, loss.data<T>(), total.data<T>());
    };
    if (num_chunks == 1) return pass(n, 1, nullptr, nullptr);
    const Tensor parts = core::empty({2 * num_chunks}, kFloat64, device);
    State* const sums = static_cast<State*>(parts.raw_data());
    pass(n, num_chunks, nullptr, sums);
    pass(num_chunks, 1, sums, nullptr);
  };
  losses.dtype() == kFloat64 ? average.operator()<double>() : average.operator()<float>();
}

void nll_backward(const Tensor& dloss, const Tensor& total, const Tensor& target, const Tensor& weights,
                  int64_t ignore_index, Tensor& dx) {
  if (dx.numel() == 0) return;
  const int64_t rows = dx.size(0), n = dx.size(1);
  visit_floating("nll_backward", dx.dtype(), [&]<class T>() {
    const dim3 block = team_block_dim(next_power_of_two(ceil_div(n, kPack<T>), 1, 256), rows);
    launch("nll_backward", nll_backward_rows<T>, {checked_grid_size(ceil_div(rows, block.y)), block}, dx.device(),
           dloss.data<OpMath<T>>(), data_or_null<OpMath<T>>(total), target.data<int64_t>(), weights.data<OpMath<T>>(),
           dx.data<T>(), rows, n, ignore_index, n % kPack<T> == 0 && is_aligned(dx.raw_data(), 16));
  });
}

}  // namespace tandem::kernels::cuda
