// Building blocks of kernels that combine the elements of rows: 16-byte loads, compute types, and reductions over a
// warp or over a team (the threads that share a row). The order of every reduction depends only on the number of
// threads, which the launchers choose by shape.
#pragma once
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cuda {

/// N consecutive elements, moved by one load or store.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
/// Number of elements of type T in a 16-byte load.
template <class T> inline constexpr int kPack = sizeof(T) < 16 ? static_cast<int>(16 / sizeof(T)) : 1;
template <class T, int N> __device__ __forceinline__ Pack<T, N> load_pack(const T* from, bool aligned) {
  if (aligned) return word_at<Pack<T, N>>(from);
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.at[i] = from[i];
  return pack;
}
template <class T, int N> __device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack, bool aligned) {
  if constexpr (sizeof(pack) % 16 == 0)
    if (aligned) {  // __stwb, because nvcc would split an ordinary store of the pack into stores of elements
      struct Parts {
        uint4 at[sizeof(pack) / 16];
      };
      const auto parts = __builtin_bit_cast(Parts, pack);
#pragma unroll
      for (int i = 0; i < static_cast<int>(sizeof(pack) / 16); ++i)
        __stwb(&word_at<uint4>(to + i * (16 / sizeof(T))), parts.at[i]);
      return;
    }
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = pack.at[i];
}

/// widen() converts elements from the dtype in memory to the compute type; store_pack_as() converts them back and
/// stores them.
template <class T, int N> __device__ __forceinline__ Pack<OpMath<T>, N> widen(const Pack<T, N>& pack) {
  if constexpr (math::kIsSameType<T, OpMath<T>>) {
    return pack;
  } else {
    Pack<OpMath<T>, N> wide;
#pragma unroll
    for (int i = 0; i < N; ++i) wide.at[i] = OpMath<T>(pack.at[i]);
    return wide;
  }
}
template <class T, int N>
__device__ __forceinline__ void store_pack_as(T* to, const Pack<OpMath<T>, N>& wide, bool aligned) {
  if constexpr (math::kIsSameType<T, OpMath<T>>) {
    store_pack(to, wide, aligned);
  } else {
    Pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < N; ++i) pack.at[i] = T(wide.at[i]);
    store_pack(to, pack, aligned);
  }
}
/// Calls f(i, load(i), k) for i = start, start + step, ... below `count`; k cycles through 0 to N - 1. N loads are
/// issued before the first loaded value is used.
template <int N, class Load, class F>
__device__ __forceinline__ void for_each_pipelined(int64_t start, int64_t step, int64_t count, Load load, F f) {
  for (int64_t i = start; i < count; i += N * step) {
    decltype(load(i)) loaded[N];
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (i + k * step < count) loaded[k] = load(i + k * step);
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (i + k * step < count) f(i + k * step, loaded[k], k);
  }
}

/// Returns the smallest power of two that is at least n, clamped to [least, most], which must be powers of two.
inline int64_t next_power_of_two(int64_t n, int64_t least, int64_t most) {
  int64_t p = least;
  while (p < n && p < most) p *= 2;
  return p;
}

/// quotient() returns a / b and remainder() returns a % b, for non-negative numbers. If both numbers fit 32 bits,
/// 32-bit division is used, which is several times faster.
TANDEM_HD int64_t quotient(int64_t a, int64_t b) {
  return ((a | b) >> 32) == 0 ? int64_t(uint32_t(a) / uint32_t(b)) : a / b;
}
TANDEM_HD int64_t remainder(int64_t a, int64_t b) { return a - quotient(a, b) * b; }

/// Returns the lowest value of a floating type (-infinity) or of a signed integer type.
template <class A> TANDEM_HD A lowest() {
  if constexpr (math::kIsFloatingType<A>)
    return A(-__builtin_inf());
  else
    return -A((uint64_t(1) << (8 * sizeof(A) - 1)) - 1) - 1;
}

/// Reduction operators on states of type A. identity() returns the neutral element, and combine() combines two states;
/// it is associative.
template <class A> struct SumOp {
  using State = A;
  __device__ static A identity() { return A(0); }
  __device__ static A combine(A a, A b) { return math::add(a, b); }
};
template <class A> struct ProductOp {
  using State = A;
  __device__ static A identity() { return A(1); }
  __device__ static A combine(A a, A b) { return math::mul(a, b); }
};
template <class A> struct MaxOp {  // a NaN wins
  using State = A;
  __device__ static A identity() { return lowest<A>(); }
  __device__ static A combine(A a, A b) { return math::max(a, b); }
};

/// Returns the `value` of the lane whose number is this lane's number XOR mask. A struct is exchanged in 8-byte words.
template <class A> __device__ __forceinline__ A shuffle_xor(const A& value, int mask, int width) {
  if constexpr (__is_class(A)) {
    struct Words {
      uint64_t at[sizeof(A) / 8];
    };
    Words words = __builtin_bit_cast(Words, value);
#pragma unroll
    for (uint64_t& word : words.at) word = __shfl_xor_sync(kFullWarpMask, word, mask, width);
    return __builtin_bit_cast(A, words);
  } else if constexpr (sizeof(A) < 4) {
    return A(__shfl_xor_sync(kFullWarpMask, int(value), mask, width));
  } else {
    return __shfl_xor_sync(kFullWarpMask, value, mask, width);
  }
}

/// Reduces `state` over each group of `width` consecutive lanes (a power of two up to 32). Every lane gets the result
/// of its group. All 32 lanes must call this function.
template <class Op>
__device__ typename Op::State warp_reduce(const Op& op, typename Op::State state, int width = kWarpSize) {
  for (int mask = width / 2; mask > 0; mask /= 2) state = op.combine(state, shuffle_xor(state, mask, width));
  return state;
}
template <class A> __device__ A warp_sum(A value) { return warp_reduce(SumOp<A>(), value); }

/// Reduces `state` over the blockDim.x threads of a row (a power of two). A block may have several rows, one per
/// threadIdx.y. The block must consist of whole warps, and all of its threads must call this function. Every thread
/// gets the result of its row.
template <class Op> __device__ typename Op::State team_reduce(const Op& op, typename Op::State state) {
  const int team = static_cast<int>(blockDim.x);
  if (team <= kWarpSize) return warp_reduce(op, state, team);
  TANDEM_SHARED(typename Op::State, of_warp, [32]);
  const int warps = team / kWarpSize,
            warp = static_cast<int>(threadIdx.y) * warps + static_cast<int>(threadIdx.x) / kWarpSize;
  state = warp_reduce(op, state);
  if (threadIdx.x % kWarpSize == 0) of_warp[warp] = state;
  __syncthreads();
  state = of_warp[threadIdx.y * warps];
  for (int w = 1; w < warps; ++w) state = op.combine(state, of_warp[threadIdx.y * warps + w]);
  __syncthreads();  // all reads must be done before the next reduction overwrites of_warp
  return state;
}
/// Reduces `state` over all threads of a one-dimensional block.
template <class Op> __device__ typename Op::State block_reduce(const Op& op, typename Op::State state) {
  return team_reduce(op, state);
}

/// Returns block dimensions (team, rows per block), so that each row has `team` threads (a power of two). The block
/// consists of whole warps, and has `wanted` threads if there are enough rows.
inline dim3 team_block_dim(int64_t team, int64_t rows, int64_t wanted = 256) {
  const int64_t least = team < kWarpSize ? kWarpSize / team : 1, most = wanted > team ? wanted / team : 1;
  return {static_cast<unsigned>(team),
          static_cast<unsigned>(next_power_of_two(rows, least, most > least ? most : least)), 1};
}

}  // namespace tandem::kernels::cuda
