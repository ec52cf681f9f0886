// Rows that their team holds in registers, so that each is read once; and walks over longer ones. Half types are loaded
// as such and held as floats.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {

/// Elements of a row that one thread holds where rows are long: 64 bytes as they are held.
template <class T> inline constexpr int kHeld = static_cast<int>(64 / sizeof(Upcast<T>));
/// Where they are short: four, or one load's.
template <class T> inline constexpr int kHeldShort = kPack<T> > 4 ? kPack<T> : 4;

/// Rows of n elements. Neighbouring threads hold neighbours, in packs where n is a multiple of a pack: by shape, since
/// the order of sums follows from it.
struct RowShape {
  int64_t rows, n;
  bool packed, aligned;  // aligned: every operand's packs can be moved by one load

  /// This thread's row; at or behind `rows` there is none.
  __device__ int64_t row() const { return int64_t(blockIdx.x) * blockDim.y + threadIdx.y; }

  /// Where in the row this thread's k-th element is; at or behind n there is none.
  template <class T> __device__ int64_t position(int k) const {
    constexpr int kWidth = kPack<T>;
    return packed ? (int64_t(k / kWidth) * blockDim.x + threadIdx.x) * kWidth + k % kWidth
                  : int64_t(k) * blockDim.x + threadIdx.x;
  }
  /// What this thread holds of its row of `from`, `missing` behind the end.
  template <int K, class T> __device__ void load(const T* from, Upcast<T> missing, Upcast<T> (&held)[K]) const {
    load_row<T, K>(row() < rows ? from + row() * n : nullptr, missing, held);
  }
  /// The same of one row that all share, or `missing` throughout where it is null. Its elements lie beside those of
  /// rows of T, by whose packs threads share a row, and may be wider.
  template <class T, int K, class S>
  __device__ void load_row(const S* from, Upcast<S> missing, Upcast<S> (&held)[K]) const {
    constexpr int kWidth = kPack<T>, kLoad = kPack<S> < kWidth ? kPack<S> : kWidth;
    const bool valid = from != nullptr;
    // `missing` comes first: chosen behind each load, it would have the next load wait for that one.
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
/// Whether teams of up to `threads` can hold rows of n.
template <class T> bool can_hold(int64_t n, int64_t threads) { return n <= threads * kHeld<T>; }
/// Calls f<K>(grid and block) with the elements that a thread holds of a row. A team takes `each` rows in turn.
template <class T, class F> void visit_held(int64_t rows, int64_t n, int64_t each, F f) {
  constexpr int kShort = kHeldShort<T>;
  const bool is_short = n <= kShort * kWarpSize;
  const int64_t team =
      is_short ? power_of_two(ceil_div(n, kShort), 1, kWarpSize) : power_of_two(ceil_div(n, kHeld<T>), 16, 1024);
  const dim3 block = team_block(team, ceil_div(rows, each));
  const LaunchShape shape{checked_grid(ceil_div(rows, each * block.y)), block};
  is_short ? f.template operator()<kShort>(shape) : f.template operator()<kHeld<T>>(shape);
}

/// Long rows, cut into `pieces` of `length` where there are few of them. A block takes one piece.
struct PieceShape {
  int64_t n, pieces, length;
  bool aligned;
  __device__ int64_t row() const { return quotient(blockIdx.x, pieces); }
  __device__ int64_t first() const { return rest(blockIdx.x, pieces) * length; }
  __device__ int64_t count() const { return math::min(length, n - first()); }
  /// Calls f(i, pack) for packs of the operands' elements i, i + 1, ... of the piece, widened, four loads of each in
  /// flight; those left over come in packs of one.
  template <class T, class F> __device__ void walk(const T* from, F f) const {
    walk_by<kPack<T>>([&]<int N>(int64_t i) { return load_pack<T, N>(from + i, aligned); },
                      [&](int64_t i, const auto& pack) { f(i, widen(pack)); });
  }
  /// The same of two operands side by side: f(i, a, b).
  template <class T, class F> __device__ void walk_pairs(const T* a, const T* b, F f) const {
    walk_by<kPack<T>>(
        [&]<int N>(int64_t i) {
          return Pair<Pack<T, N>>{load_pack<T, N>(a + i, aligned), load_pack<T, N>(b + i, aligned)};
        },
        [&](int64_t i, const auto& pair) { f(i, widen(pair.a), widen(pair.b)); });
  }

 private:
  template <class P> struct Pair { P a, b; };
  /// load.operator()<N>(i) brings elements i, ... i + N - 1 of the operands.
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

/// Long rows take one launch for reduction and result, or one for each where they are cut into pieces.
enum class Stage { all, parts, finish };
/// Runs f(shape, stage, parts) in as many stages as the pieces ask for; parts are of `bytes` each.
template <class F> void run_long(int64_t rows, const PieceShape& shape, int64_t bytes, Device device, F f) {
  const LaunchShape launched{checked_grid(rows * shape.pieces), dim3(shape.pieces > 1 ? 256 : 512)};
  if (shape.pieces == 1) return f(launched, Stage::all, nullptr);
  const Tensor parts = core::empty({rows * shape.pieces * bytes}, kUInt8, device);
  f(launched, Stage::parts, parts.raw_data());
  f(launched, Stage::finish, parts.raw_data());
}
/// What the pieces of this block's row come to; every block of the row adds them in the same order.
template <class Op> __device__ typename Op::State row_total(const PieceShape& shape, const typename Op::State* parts) {
  typename Op::State state = Op::start();
  for (int64_t p = threadIdx.x; p < shape.pieces; p += blockDim.x)
    state = Op::join(state, parts[shape.row() * shape.pieces + p]);
  return team_reduce(Op(), state);
}

/// The gradient of a row's loss: of the rows' mean where there is their total weight.
template <class C> __device__ C loss_slope(const C* dloss, const C* total, int64_t row) {
  return total ? *dloss / *total : dloss[row];
}

/// The elements of a tensor that may be undefined.
template <class T> T* data_or_null(const Tensor& t) { return t.defined() ? t.data<T>() : nullptr; }

}  // namespace tandem::kernels::cuda
