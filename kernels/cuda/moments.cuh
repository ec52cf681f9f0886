// Mean and squared deviations in one read. A thread adds up what its elements differ from its first one: that is off by
// at most their number of roundings, however large the mean. Threads and blocks are joined in double (Chan 1979). A
// thread's own squares are summed in Squares: double where any float may come, T in normalisations, as in PyTorch.
#pragma once
#include "tandem/kernels/cuda/reduce.cuh"

namespace tandem::kernels::cuda {

/// The state of many elements; a join does not depend on which side is which.
struct Moments {
  struct State {
    double count, mean, squares;  // squares: of what the elements differ from their mean
  };
  __device__ static State start() { return {0.0, 0.0, 0.0}; }
  __device__ static State join(const State& a, const State& b) {
    if (a.count == 0.0 || b.count == 0.0) return a.count == 0.0 ? b : a;
    const double count = a.count + b.count, apart = b.mean - a.mean, squares = a.squares + b.squares;
    // Most joins are of equal counts, and need no division, which takes as long as all the rest.
    if (a.count == b.count) return {count, 0.5 * (a.mean + b.mean), squares + apart * apart * (0.5 * a.count)};
    const double each = 1.0 / count;
    return {count, (a.mean * a.count + b.mean * b.count) * each, squares + apart * apart * (a.count * b.count * each)};
  }
};

/// What one thread adds up.
template <class T, class Squares = T> struct ShiftedSums {
  T shift = T(0), sum = T(0);
  Squares squares = Squares(0);
  int64_t count = 0;
  template <int N> __device__ void take(const Pack<T, N>& x) {
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
    if (count == 0) return Moments::start();
    const double off = double(sum) / double(count);
    return {double(count), double(shift) + off, math::max(double(squares) - double(sum) * off, 0.0)};
  }
};

/// Two sums side by side.
template <class T> struct AddingTwo {
  struct State {
    T first, second;
  };
  __device__ static State start() { return {T(0), T(0)}; }
  __device__ static State join(const State& a, const State& b) { return {a.first + b.first, a.second + b.second}; }
};

}  // namespace tandem::kernels::cuda
