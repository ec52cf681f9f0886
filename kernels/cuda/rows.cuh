// Rows that a team of threads holds in registers, so that each row is read once, and loops over rows that are too long
// for that. Half types are held as float.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {

/// Number of elements of a long row that one thread holds: 64 bytes in the compute type.
template <class T> inline constexpr int kHeld = static_cast<int>(64 / sizeof(Upcast<T>));
/// Number of elements of a short row that one thread holds: four, or one 16-byte load if that has more.
template <class T> inline constexpr int kHeldShort = kPack<T> > 4 ? kPack<T> : 4;

/// Rows of n elements. Consecutive threads hold consecutive elements, in packs if n is a multiple of the pack size.
/// This depends only on the shape, because it determines the order of sums.
struct RowShape {
  int64_t rows, n;
  bool packed, aligned;  // aligned: the packs of every operand can be moved by one load each

  /// Returns this thread's row; the thread has no row if the result is `rows` or more.
  __device__ int64_t row() const { return int64_t(blockIdx.x) * blockDim.y + threadIdx.y; }

  /// Returns the index in the row of this thread's k-th element; the element does not exist if the result is n or more.
  template <class T> __device__ int64_t position(int k) const {
    constexpr int kWidth = kPack<T>;
    return packed ? (int64_t(k / kWidth) * blockDim.x + threadIdx.x) * kWidth + k % kWidth
                  : int64_t(k) * blockDim.x + threadIdx.x;
  }
  /// Loads this thread's elements of its row of `from`; elements after the end of the row become `missing`.
  template <int K, class T> __device__ void load(const T* from, Upcast<T> missing, Upcast<T> (&held)[K]) const {
    load_row<T, K>(row() < rows ? from + row() * n : nullptr, missing, held);
  }
  /// Loads this thread's elements of the single row `from`, which several teams may share (a weight, say); all become
  /// `missing` if `from` is null. The elements are distributed over the threads in packs of T, as in load(); S may be
  /// wider than T.
  template <class T, int K, class S>
  __device__ void load_row(const S* from, Upcast<S> missing, Upcast<S> (&held)[K]) const {
    constexpr int kWidth = kPack<T>, kLoad = kPack<S> < kWidth ? kPack<S> : kWidth;
    const bool valid = from != nullptr;
    // `missing` is assigned first: a choice after each load would make the next load wait for that one.
    for (int k = 0; k < K; ++k) held[k] = missing;
    if (packed) {
#pragma unroll
      for (int p = 0; p < K / kWidth; ++p) {
        const int64_t i = (int64_t(p) * blockDim.x + threadIdx.x) * kWidth;
        if (!valid || i >= n) continue;
#pragma unroll
        for (int first = 0; first < kWidth; first += kLoad) {
          const Pack<S, kLoad> pack = load_pack<S, kLoad>(from + i + first, aligned);
#pragma unroll
          for (int v = 0; v < kLoad; ++v) held[p * kWidth + first + v] = Upcast<S>(pack.at[v]);
        }
      }
    } else {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int64_t i = int64_t(k) * blockDim.x + threadIdx.x;
        if (valid && i < n) held[k] = Upcast<S>(from[i]);
      }
    }
  }
  template <int K, class T> __device__ void store(T* to, const Upcast<T> (&held)[K]) const {
    if (row() < rows) store_row<T, K>(to + row() * n, held);
  }
  template <class T, int K, class S> __device__ void store_row(S* to, const Upcast<S> (&held)[K]) const {
    constexpr int kWidth = kPack<T>, kStore = kPack<S> < kWidth ? kPack<S> : kWidth;
    if (packed) {
#pragma unroll
      for (int p = 0; p < K / kWidth; ++p) {
        const int64_t i = (int64_t(p) * blockDim.x + threadIdx.x) * kWidth;
        if (i >= n) continue;
#pragma unroll
        for (int first = 0; first < kWidth; first += kStore) {
          Pack<S, kStore> pack;
#pragma unroll
          for (int v = 0; v < kStore; ++v) pack.at[v] = S(held[p * kWidth + first + v]);
          store_pack<S, kStore>(to + i + first, pack, aligned);
        }
      }
    } else {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int64_t i = int64_t(k) * blockDim.x + threadIdx.x;
        if (i < n) to[i] = S(held[k]);
      }
    }
  }
};

template <class T> RowShape row_shape(int64_t rows, int64_t n, std::initializer_list<const void*> operands) {
  RowShape shape{rows, n, n % kPack<T> == 0, n % kPack<T> == 0};
  for (const void* each : operands) shape.aligned &= is_aligned(each, 16);
  return shape;
}
/// Returns whether a team of up to `threads` threads can hold a row of n elements.
template <class T> bool can_hold(int64_t n, int64_t threads) { return n <= threads * kHeld<T>; }
/// Calls f<K>(launch shape), where K is the number of elements of a row that a thread holds. A team takes `each` rows
/// in turn.
template <class T, class F> void visit_held(int64_t rows, int64_t n, int64_t each, F f) {
  constexpr int kShort = kHeldShort<T>;
  const bool is_short = n <= kShort * kWarpSize;
  const int64_t team =
      is_short ? power_of_two(ceil_div(n, kShort), 1, kWarpSize) : power_of_two(ceil_div(n, kHeld<T>), 16, 1024);
  const dim3 block = team_block(team, ceil_div(rows, each));
  const LaunchShape shape{checked_grid(ceil_div(rows, each * block.y)), block};
  is_short ? f.template operator()<kShort>(shape) : f.template operator()<kHeld<T>>(shape);
}

/// Shape of long rows. If there are few rows, each is cut into `pieces` of `length` elements. A block takes one piece.
struct PieceShape {
  int64_t n, pieces, length;
  bool aligned;
  __device__ int64_t row() const { return quotient(blockIdx.x, pieces); }
  __device__ int64_t first() const { return rest(blockIdx.x, pieces) * length; }
  __device__ int64_t count() const { return math::min(length, n - first()); }
  /// Calls f(i, pack) for the packs of the piece that starts at `from`: elements i, i + 1, ... in the compute type.
  /// Four loads are in flight. Elements that do not fill a pack come in packs of one.
  template <class T, class F> __device__ void walk(const T* from, F f) const {
    walk_by<kPack<T>>([&]<int N>(int64_t i) { return load_pack<T, N>(from + i, aligned); },
                      [&](int64_t i, const auto& pack) { f(i, widen(pack)); });
  }
  /// Version of walk() for two operands with the same positions: calls f(i, a, b).
  template <class T, class F> __device__ void walk_pairs(const T* a, const T* b, F f) const {
    walk_by<kPack<T>>(
        [&]<int N>(int64_t i) {
          return Pair<Pack<T, N>>{load_pack<T, N>(a + i, aligned), load_pack<T, N>(b + i, aligned)};
        },
        [&](int64_t i, const auto& pair) { f(i, widen(pair.a), widen(pair.b)); });
  }

 private:
  template <class P> struct Pair { P a, b; };
  /// load.operator()<N>(i) returns elements i to i + N - 1 of the operands.
  template <int kWidth, class Load, class F> __device__ void walk_by(Load load, F f) const {
    const int64_t packs = count() / kWidth, team = blockDim.x;
    stream<4>(
        threadIdx.x, team, packs, [&](int64_t p) { return load.template operator()<kWidth>(p * kWidth); },
        [&](int64_t p, const auto& loaded, int) { f(p * kWidth, loaded); });
    for (int64_t i = packs * kWidth + threadIdx.x; i < count(); i += team) f(i, load.template operator()<1>(i));
  }
};
template <class T> PieceShape piece_shape(int64_t rows, int64_t n, std::initializer_list<const void*> operands) {
  PieceShape shape{n, 1, n, n % kPack<T> == 0};
  for (const void* each : operands) shape.aligned &= is_aligned(each, 16);
  if (rows < 256) {
    const int64_t wanted = ceil_div(n * rows, 1024);  // blocks that keep every multiprocessor busy
    shape.length = ceil_div(math::max<int64_t>(wanted, 4096), kPack<T>) * kPack<T>;
    shape.pieces = ceil_div(n, shape.length);
  }
  return shape;
}

/// Stage of a launch over long rows: `all` reduces and writes the result; if rows are cut into pieces, `parts` reduces
/// each piece, and `finish` writes the result in a second launch.
enum class Stage { all, parts, finish };
/// Calls f(launch shape, stage, parts) once, or twice if rows are cut into pieces. `parts` has `bytes` for each piece.
template <class F> void run_long(int64_t rows, const PieceShape& shape, int64_t bytes, Device device, F f) {
  const LaunchShape launched{checked_grid(rows * shape.pieces), dim3(shape.pieces > 1 ? 256 : 512)};
  if (shape.pieces == 1) return f(launched, Stage::all, nullptr);
  const Tensor parts = core::empty({rows * shape.pieces * bytes}, kUInt8, device);
  f(launched, Stage::parts, parts.raw_data());
  f(launched, Stage::finish, parts.raw_data());
}
/// Returns the combined state of all pieces of this block's row; every block of the row adds them in the same order.
template <class Op> __device__ typename Op::State row_total(const PieceShape& shape, const typename Op::State* parts) {
  typename Op::State state = Op::start();
  for (int64_t p = threadIdx.x; p < shape.pieces; p += blockDim.x)
    state = Op::join(state, parts[shape.row() * shape.pieces + p]);
  return team_reduce(Op(), state);
}

/// Returns the gradient of one row's loss: dloss[row], or *dloss / *total if the loss is the mean over rows (total:
/// their total weight).
template <class C> __device__ C loss_slope(const C* dloss, const C* total, int64_t row) {
  return total ? *dloss / *total : dloss[row];
}

/// Returns the tensor's elements, or null if the tensor is undefined.
template <class T> T* data_or_null(const Tensor& t) { return t.defined() ? t.data<T>() : nullptr; }

}  // namespace tandem::kernels::cuda
