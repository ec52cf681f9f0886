// Mean and sum of squared deviations in a single pass over the data. Each thread subtracts its first element from its
// elements before it sums them, so a large mean does not increase the rounding error. The states of threads and blocks
// are joined in double (Chan et al. 1979). A thread sums its squares in the type Squares: double if the squares could
// overflow a float; T in normalisations, as in PyTorch.
#pragma once
#include "tandem/kernels/cuda/reduce.cuh"

namespace tandem::kernels::cuda {

/// Reduction operator that computes the mean and the sum of squared deviations. combine(a, b) and combine(b, a) are
/// equal.
struct Moments {
  struct State {
    double count, mean, squares;  // squares is the sum of squared deviations from the mean
  };
  __device__ static State identity() { return {0.0, 0.0, 0.0}; }
  __device__ static State combine(const State& a, const State& b) {
    if (a.count == 0.0 || b.count == 0.0) return a.count == 0.0 ? b : a;
    const double count = a.count + b.count, delta = b.mean - a.mean, squares = a.squares + b.squares;
    // In most calls, both counts are equal. This case skips the division, which takes as long as everything else.
    if (a.count == b.count) return {count, 0.5 * (a.mean + b.mean), squares + delta * delta * (0.5 * a.count)};
    const double each = 1.0 / count;
    return {count, (a.mean * a.count + b.mean * b.count) * each, squares + delta * delta * (a.count * b.count * each)};
  }
};

/// Sums of one thread's elements and of their squares, after subtraction of the thread's first element (`shift`).
template <class T, class Squares = T> struct ShiftedSums {
  T shift = T(0), sum = T(0);
  Squares squares = Squares(0);
  int64_t count = 0;
  template <int N> __device__ void accumulate(const Pack<T, N>& x) {
    if (count == 0) shift = x.at[0];
    count += N;
#pragma unroll
    for (int v = 0; v < N; ++v) {
      const T off = x.at[v] - shift;
      sum += off;
      squares += Squares(off) * Squares(off);
    }
  }
  __device__ Moments::State state() const {
    if (count == 0) return Moments::identity();
    const double off = double(sum) / double(count);
    return {double(count), double(shift) + off, math::max(double(squares) - double(sum) * off, 0.0)};
  }
};

/// Reduction operator that computes two independent sums at once.
template <class T> struct PairSumOp {
  struct State {
    T first, second;
  };
  __device__ static State identity() { return {T(0), T(0)}; }
  __device__ static State combine(const State& a, const State& b) { return {a.first + b.first, a.second + b.second}; }
};

}  // namespace tandem::kernels::cuda
