// Mean and sum of squared deviations in a single read. Each thread sums the differences of its elements from its first
// element; the rounding error is at most one rounding per element, however large the mean is. The states of threads and
// blocks are joined in double (Chan et al. 1979). A thread sums its own squares in Squares: double if the input may be
// any float; T in normalisations, as in PyTorch.
#pragma once
#include "tandem/kernels/cuda/reduce.cuh"

namespace tandem::kernels::cuda {

/// Reduction state of a set of elements; join() is symmetric.
struct Moments {
  struct State {
    double count, mean, squares;  // squares: sum of squared differences from the mean
  };
  __device__ static State start() { return {0.0, 0.0, 0.0}; }
  __device__ static State join(const State& a, const State& b) {
    if (a.count == 0.0 || b.count == 0.0) return a.count == 0.0 ? b : a;
    const double count = a.count + b.count, apart = b.mean - a.mean, squares = a.squares + b.squares;
    // Most joins have equal counts and skip the division, which takes as long as all the rest.
    if (a.count == b.count) return {count, 0.5 * (a.mean + b.mean), squares + apart * apart * (0.5 * a.count)};
    const double each = 1.0 / count;
    return {count, (a.mean * a.count + b.mean * b.count) * each, squares + apart * apart * (a.count * b.count * each)};
  }
};

/// Sums of one thread, relative to the thread's first element (shift).
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

/// Reduction of two independent sums at a time.
template <class T> struct AddingTwo {
  struct State {
    T first, second;
  };
  __device__ static State start() { return {T(0), T(0)}; }
  __device__ static State join(const State& a, const State& b) { return {a.first + b.first, a.second + b.second}; }
};

}  // namespace tandem::kernels::cuda
