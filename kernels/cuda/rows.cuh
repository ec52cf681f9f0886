// Helpers for kernels that process rows. A team of threads holds a row in registers, so that the row is read from
// memory once; other helpers loop over rows that are too long for registers. Half types are held as float.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {

/// Number of elements of a row that one thread holds, unless the row is short: 64 bytes in the compute type.
template <class T> inline constexpr int kElementsPerThread = static_cast<int>(64 / sizeof(OpMath<T>));
/// Number of elements of a short row that one thread holds: four, or the elements of one 16-byte load if these are
/// more.
template <class T> inline constexpr int kShortElementsPerThread = kPack<T> > 4 ? kPack<T> : 4;

/// Distribution of rows of n elements over the threads of a team. Consecutive threads hold consecutive packs if n is a
/// multiple of the pack size, otherwise consecutive elements. The distribution depends only on the shape, because it
/// determines the order of sums.
struct RowShape {
  int64_t rows, n;
  bool packed, aligned;  // aligned: every operand can be loaded and stored by whole packs

  /// Returns the index of this thread's row. If it is `rows` or more, the thread has no row.
  __device__ int64_t row() const { return int64_t(blockIdx.x) * blockDim.y + threadIdx.y; }

  /// Returns the index within the row of this thread's k-th element. If it is n or more, the element does not exist.
  template <class T> __device__ int64_t position(int k) const {
    constexpr int kWidth = kPack<T>;
    return packed ? (int64_t(k / kWidth) * blockDim.x + threadIdx.x) * kWidth + k % kWidth
                  : int64_t(k) * blockDim.x + threadIdx.x;
  }
  /// Loads this thread's elements of its row in the tensor `from`. Elements after the end of the row become `missing`.
  template <int K, class T> __device__ void load(const T* from, OpMath<T> missing, OpMath<T> (&held)[K]) const {
    load_row<T, K>(row() < rows ? from + row() * n : nullptr, missing, held);
  }
  /// Loads this thread's elements of one row, which starts at `from`. Several teams may load the same row, for example
  /// a weight. If `from` is null, all elements become `missing`. The elements are distributed over the threads in packs
  /// of T, as in load(), even if their type S is wider than T.
  template <class T, int K, class S>
  __device__ void load_row(const S* from, OpMath<S> missing, OpMath<S> (&held)[K]) const {
    constexpr int kWidth = kPack<T>, kLoad = kPack<S> < kWidth ? kPack<S> : kWidth;
    const bool valid = from != nullptr;
    // `missing` is assigned before the loads: if each load were followed by a selection, the next load would wait for
    // it.
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
          for (int v = 0; v < kLoad; ++v) held[p * kWidth + first + v] = OpMath<S>(pack.at[v]);
        }
      }
    } else {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int64_t i = int64_t(k) * blockDim.x + threadIdx.x;
        if (valid && i < n) held[k] = OpMath<S>(from[i]);
      }
    }
  }
  template <int K, class T> __device__ void store(T* to, const OpMath<T> (&held)[K]) const {
    if (row() < rows) store_row<T, K>(to + row() * n, held);
  }
  template <class T, int K, class S> __device__ void store_row(S* to, const OpMath<S> (&held)[K]) const {
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
/// Returns whether a team of `threads` threads can hold a row of n elements in registers.
template <class T> bool fits_in_registers(int64_t n, int64_t threads) { return n <= threads * kElementsPerThread<T>; }
/// Calls f.operator()<K>(launch shape), where K is the number of elements of a row that a thread holds. A team
/// processes `each` rows in turn.
template <class T, class F> void visit_persistent(int64_t rows, int64_t n, int64_t each, F f) {
  constexpr int kShort = kShortElementsPerThread<T>;
  const bool is_short = n <= kShort * kWarpSize;
  const int64_t team = is_short ? next_power_of_two(ceil_div(n, kShort), 1, kWarpSize)
                                : next_power_of_two(ceil_div(n, kElementsPerThread<T>), 16, 1024);
  const dim3 block = team_block_dim(team, ceil_div(rows, each));
  const LaunchShape shape{checked_grid_size(ceil_div(rows, each * block.y)), block};
  is_short ? f.template operator()<kShort>(shape) : f.template operator()<kElementsPerThread<T>>(shape);
}

/// Shape of rows that are too long for registers. If there are few rows, each is cut into `num_chunks` chunks of
/// `length` elements. A block processes one chunk.
struct ChunkShape {
  int64_t n, num_chunks, length;
  bool aligned;
  __device__ int64_t row() const { return quotient(blockIdx.x, num_chunks); }
  __device__ int64_t first() const { return remainder(blockIdx.x, num_chunks) * length; }
  __device__ int64_t count() const { return math::min(length, n - first()); }
  /// Calls f(i, pack) for this thread's packs of the chunk that starts at `from`. `pack` has the elements i, i + 1, ...
  /// in the compute type. Four loads are in flight at a time. Remaining elements that do not fill a pack are passed in
  /// packs of one.
  template <class T, class F> __device__ void for_each_pack(const T* from, F f) const {
    run_pack_loop<kPack<T>>([&]<int N>(int64_t i) { return load_pack<T, N>(from + i, aligned); },
                            [&](int64_t i, const auto& pack) { f(i, widen(pack)); });
  }
  /// Version of for_each_pack() for rows a and b: calls f(i, pack of a, pack of b).
  template <class T, class F> __device__ void for_each_pack_pair(const T* a, const T* b, F f) const {
    run_pack_loop<kPack<T>>(
        [&]<int N>(int64_t i) {
          return Pair<Pack<T, N>>{load_pack<T, N>(a + i, aligned), load_pack<T, N>(b + i, aligned)};
        },
        [&](int64_t i, const auto& pair) { f(i, widen(pair.a), widen(pair.b)); });
  }

 private:
  template <class P> struct Pair { P a, b; };
  /// Loop of for_each_pack() and for_each_pack_pair(). load.operator()<N>(i) must return elements i to i + N - 1 of the
  /// operands.
  template <int kWidth, class Load, class F> __device__ void run_pack_loop(Load load, F f) const {
    const int64_t packs = count() / kWidth, team = blockDim.x;
    for_each_pipelined<4>(
        threadIdx.x, team, packs, [&](int64_t p) { return load.template operator()<kWidth>(p * kWidth); },
        [&](int64_t p, const auto& loaded, int) { f(p * kWidth, loaded); });
    for (int64_t i = packs * kWidth + threadIdx.x; i < count(); i += team) f(i, load.template operator()<1>(i));
  }
};
template <class T> ChunkShape chunk_shape(int64_t rows, int64_t n, std::initializer_list<const void*> operands) {
  ChunkShape shape{n, 1, n, n % kPack<T> == 0};
  for (const void* each : operands) shape.aligned &= is_aligned(each, 16);
  if (rows < 256) {
    // number of elements per chunk if there are 1024 blocks, which keep every multiprocessor busy
    const int64_t wanted = ceil_div(n * rows, 1024);
    shape.length = ceil_div(math::max<int64_t>(wanted, 4096), kPack<T>) * kPack<T>;
    shape.num_chunks = ceil_div(n, shape.length);
  }
  return shape;
}

/// Stage of a computation over long rows. If rows are not cut into chunks, one launch with `all` reduces the rows and
/// writes the result. Otherwise a launch with `parts` reduces each chunk, and a launch with `finish` combines the
/// chunks and writes the result.
enum class LongRowStage { all, parts, finish };
/// Calls f(launch shape, stage, parts) once, or twice if rows are cut into chunks. `parts` is scratch memory with
/// `bytes` bytes for each chunk.
template <class F> void launch_long_rows(int64_t rows, const ChunkShape& shape, int64_t bytes, Device device, F f) {
  const LaunchShape launched{checked_grid_size(rows * shape.num_chunks), dim3(shape.num_chunks > 1 ? 256 : 512)};
  if (shape.num_chunks == 1) return f(launched, LongRowStage::all, nullptr);
  const Tensor parts = core::empty({rows * shape.num_chunks * bytes}, kUInt8, device);
  f(launched, LongRowStage::parts, parts.raw_data());
  f(launched, LongRowStage::finish, parts.raw_data());
}
/// Returns the combined state of all chunks of this block's row. Every block of the row combines the chunks in the same
/// order.
template <class Op>
__device__ typename Op::State combine_row_parts(const ChunkShape& shape, const typename Op::State* parts) {
  typename Op::State state = Op::identity();
  for (int64_t p = threadIdx.x; p < shape.num_chunks; p += blockDim.x)
    state = Op::combine(state, parts[shape.row() * shape.num_chunks + p]);
  return team_reduce(Op(), state);
}

/// Returns the gradient of the final loss with respect to one row's loss: dloss[row]; or *dloss / *total if the final
/// loss is a mean over rows, where *total is the sum of the rows' weights.
template <class C> __device__ C loss_gradient(const C* dloss, const C* total, int64_t row) {
  return total ? *dloss / *total : dloss[row];
}

/// Returns the tensor's elements, or null if the tensor is undefined.
template <class T> T* data_or_null(const Tensor& t) { return t.defined() ? t.data<T>() : nullptr; }

}  // namespace tandem::kernels::cuda
