// What kernels that combine the elements of rows share: the types they add in, 16-byte loads, and reductions over a
// warp and over a team, the threads of one row. Every order of combination follows from the number of threads alone,
// and the launchers choose that by shapes.
#pragma once
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cuda {

/// N neighbours that one load or store moves.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
/// How many T one 16-byte load brings.
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
    if (aligned) {  // __stwb is the usual store; written as one, nvcc makes it the same stores as below
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

/// Elements in the type that they are computed in, and rounded to the one they are stored in.
template <class T, int N> __device__ __forceinline__ Pack<Upcast<T>, N> widen(const Pack<T, N>& pack) {
  if constexpr (math::kSame<T, Upcast<T>>) {
    return pack;
  } else {
    Pack<Upcast<T>, N> wide;
#pragma unroll
    for (int i = 0; i < N; ++i) wide.at[i] = Upcast<T>(pack.at[i]);
    return wide;
  }
}
template <class T, int N>
__device__ __forceinline__ void store_pack_as(T* to, const Pack<Upcast<T>, N>& wide, bool aligned) {
  if constexpr (math::kSame<T, Upcast<T>>) {
    store_pack(to, wide, aligned);
  } else {
    Pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < N; ++i) pack.at[i] = T(wide.at[i]);
    store_pack(to, pack, aligned);
  }
}
/// f(i, load(i), k) for i = start, start + step, ... below count, k in turn from 0 to N - 1; N loads are under way
/// before the first is used.
template <int N, class Load, class F>
__device__ __forceinline__ void stream(int64_t start, int64_t step, int64_t count, Load load, F f) {
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

/// The smallest power of two that is at least n, between the limits (powers of two themselves).
inline int64_t power_of_two(int64_t n, int64_t least, int64_t most) {
  int64_t p = least;
  while (p < n && p < most) p *= 2;
  return p;
}

/// a / b and a % b of numbers that are not negative; by 32-bit division, several times faster, where they fit.
TANDEM_HD int64_t quotient(int64_t a, int64_t b) {
  return ((a | b) >> 32) == 0 ? int64_t(uint32_t(a) / uint32_t(b)) : a / b;
}
TANDEM_HD int64_t rest(int64_t a, int64_t b) { return a - quotient(a, b) * b; }

/// The least value of a floating or signed type.
template <class A> TANDEM_HD A lowest() {
  if constexpr (math::kFloating<A>)
    return A(-__builtin_inf());
  else
    return -A((uint64_t(1) << (8 * sizeof(A) - 1)) - 1) - 1;
}

/// Ways to combine states of type A: start() is neutral, join() associative.
template <class A> struct Adding {
  using State = A;
  __device__ static A start() { return A(0); }
  __device__ static A join(A a, A b) { return math::add(a, b); }
};
template <class A> struct Multiplying {
  using State = A;
  __device__ static A start() { return A(1); }
  __device__ static A join(A a, A b) { return math::mul(a, b); }
};
template <class A> struct Largest {  // a NaN wins
  using State = A;
  __device__ static A start() { return lowest<A>(); }
  __device__ static A join(A a, A b) { return math::max(a, b); }
};

/// The value of the lane whose number differs in the bits of `mask`; structs are exchanged by words of 8 bytes.
template <class A> __device__ __forceinline__ A exchange(const A& value, int mask, int width) {
  if constexpr (__is_class(A)) {
    struct Words {
      uint64_t at[sizeof(A) / 8];
    };
    Words words = __builtin_bit_cast(Words, value);
#pragma unroll
    for (uint64_t& word : words.at) word = __shfl_xor_sync(kFullWarp, word, mask, width);
    return __builtin_bit_cast(A, words);
  } else if constexpr (sizeof(A) < 4) {
    return A(__shfl_xor_sync(kFullWarp, int(value), mask, width));
  } else {
    return __shfl_xor_sync(kFullWarp, value, mask, width);
  }
}

/// Over the `width` lanes that stand together, a power of two up to 32; every lane gets the result. The warp is whole.
template <class Op>
__device__ typename Op::State warp_reduce(const Op& op, typename Op::State state, int width = kWarpSize) {
  for (int mask = width / 2; mask > 0; mask /= 2) state = op.join(state, exchange(state, mask, width));
  return state;
}
template <class A> __device__ A warp_sum(A value) { return warp_reduce(Adding<A>(), value); }

/// Over the blockDim.x threads of one row, a power of two; rows of several threadIdx.y stand side by side in a block of
/// whole warps, all of whose threads call this. Every thread gets its row's result.
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
  for (int w = 1; w < warps; ++w) state = op.join(state, of_warp[threadIdx.y * warps + w]);
  __syncthreads();  // before another reduction writes there
  return state;
}
/// Over all threads of a block of (x) alone.
template <class Op> __device__ typename Op::State block_reduce(const Op& op, typename Op::State state) {
  return team_reduce(op, state);
}

/// A block for rows of which each has `team` threads, a power of two: whole warps, `wanted` threads where there are
/// rows enough. @return (team, rows of a block)
inline dim3 team_block(int64_t team, int64_t rows, int64_t wanted = 256) {
  const int64_t least = team < kWarpSize ? kWarpSize / team : 1, most = wanted > team ? wanted / team : 1;
  return {static_cast<unsigned>(team), static_cast<unsigned>(power_of_two(rows, least, most > least ? most : least)),
          1};
}

}  // namespace tandem::kernels::cuda
