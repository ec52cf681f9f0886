// CUDA's built-ins for kernels that run on the CPU, one fiber per CUDA thread (block.h): a kernel's source, compiled as
// plain C++ with this header, behaves as under nvcc. This file defines indices, barriers, shuffles, votes and shared
// memory; atomics.h, intrinsics.h and vector_types.h define the rest.
//
// If CUDA does not define a behaviour, the emulation guarantees nothing either: shared memory starts as NaN, threads
// run in a selectable order (thread_order.h), and __activemask() contains the calling lane only. A thread that polls
// for another thread must call __nanosleep(), or it waits forever.
#pragma once
#include <assert.h>
#include <stdio.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/half.h"
#include "tandem/emulation/running_thread.h"

#define __global__
#define __device__
#define __host__
#define __constant__  // empty: an ordinary variable is enough, because kernels only read these tables
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

namespace tandem::emulation {

/// Queues a kernel on a stream (defined in runtime.cpp). When the kernel is at the front of the stream's queue, the
/// stream runs it by run_grid (grid.h).
void launch(const char* name, dim3 grid, dim3 block, size_t shared_bytes, gpu::StreamHandle stream,
            std::function<void()> thread);

inline const Position& current_position() { return position; }

}  // namespace tandem::emulation

// ---- indices

#define threadIdx (::tandem::emulation::current_position().thread)
#define blockIdx (::tandem::emulation::current_position().block)
#define blockDim (::tandem::emulation::current_position().block_dim)
#define gridDim (::tandem::emulation::current_position().grid_dim)
constexpr int warpSize = 32;

// ---- shared memory: one array per block and declaration, as with __shared__

#define TANDEM_SHARED(T, name, dims)                                                                             \
  static_assert(std::is_trivially_default_constructible_v<T>, "shared memory starts out uninitialised");         \
  static const ::tandem::emulation::SharedArray name##_declaration{#name,                                        \
                                                                   ::tandem::emulation::SourceLocation::here()}; \
  using name##_type = T dims;                                                                                    \
  name##_type& name =                                                                                            \
      *static_cast<name##_type*>(::tandem::emulation::shared_array(name##_declaration, sizeof(name##_type)))
#define TANDEM_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::tandem::emulation::dynamic_shared_array())

// ---- barriers of a block: they wait only for threads that have not ended

inline void __syncthreads(tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::sync_threads("__syncthreads", false, location);
}
inline int __syncthreads_or(int predicate,
                            tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  return tandem::emulation::sync_threads("__syncthreads_or", predicate != 0, location).true_count != 0;
}
inline int __syncthreads_and(int predicate,
                             tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  const tandem::emulation::Votes votes = tandem::emulation::sync_threads("__syncthreads_and", predicate != 0, location);
  return votes.true_count == votes.vote_count;
}
inline int __syncthreads_count(int predicate,
                               tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  return static_cast<int>(tandem::emulation::sync_threads("__syncthreads_count", predicate != 0, location).true_count);
}

// ---- warp operations: the lanes of `mask` wait for one another; only __syncwarp orders memory accesses

inline void __syncwarp(unsigned mask = 0xffffffffu,
                       tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::sync_warp(mask, location);
}
/// Returns a mask of the calling lane only. CUDA guarantees no more: it need not run any other lane together with the
/// calling lane.
inline unsigned __activemask() { return 1u << tandem::emulation::position.lane; }

namespace tandem::emulation {

template <class T>
concept Shuffled = std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <Shuffled T>
T shuffle(const char* function_name, unsigned mask, T value, int source, SourceLocation location) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange_lanes(function_name, mask, bits, source, location);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline void check_width(const char* function_name, int width, SourceLocation location) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0)
    fail(std::string(function_name) + ": width is " + std::to_string(width) + "; accepted: 1, 2, 4, 8, 16, 32",
         location);
}

}  // namespace tandem::emulation

/// Returns the value that lane number `source` passed, counted within the caller's group of `width` lanes.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::check_width("__shfl_sync", width, location);
  const int lane = static_cast<int>(tandem::emulation::position.lane), first = lane & ~(width - 1);
  return tandem::emulation::shuffle("__shfl_sync", mask, value, first | (source & (width - 1)), location);
}
/// Returns the value that lane (lane ^ bits) passed, or the caller's own value if that lane is in a later group of
/// `width` lanes.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::check_width("__shfl_xor_sync", width, location);
  const int lane = static_cast<int>(tandem::emulation::position.lane), source = lane ^ (bits & 31);
  return tandem::emulation::shuffle("__shfl_xor_sync", mask, value, source <= (lane | (width - 1)) ? source : lane,
                                    location);
}
/// Returns the value that lane (lane - delta) passed, or the caller's own value if that lane is before the caller's
/// group of `width` lanes.
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::check_width("__shfl_up_sync", width, location);
  const int lane = static_cast<int>(tandem::emulation::position.lane), source = lane - static_cast<int>(delta & 31);
  return tandem::emulation::shuffle("__shfl_up_sync", mask, value, source >= (lane & ~(width - 1)) ? source : lane,
                                    location);
}
/// Returns the value that lane (lane + delta) passed, or the caller's own value if that lane is after the caller's
/// group of `width` lanes.
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::check_width("__shfl_down_sync", width, location);
  const int lane = static_cast<int>(tandem::emulation::position.lane), source = lane + static_cast<int>(delta & 31);
  return tandem::emulation::shuffle("__shfl_down_sync", mask, value, source <= (lane | (width - 1)) ? source : lane,
                                    location);
}

namespace tandem::emulation {

/// Reduces the values of the lanes of `mask` by `fold`, which must be associative and commutative.
template <class T, class Fold>
T reduce(const char* function_name, unsigned mask, T value, Fold fold, SourceLocation location) {
  uint64_t all[32];
  unsigned rest = gather_lanes(function_name, mask, static_cast<uint64_t>(value), all, location);
  T result = static_cast<T>(all[std::countr_zero(rest)]);
  while (rest &= rest - 1) result = fold(result, static_cast<T>(all[std::countr_zero(rest)]));
  return result;
}
inline unsigned ballot(const char* function_name, unsigned mask, bool vote, SourceLocation location) {
  const unsigned bit = vote ? 1u << position.lane : 0;
  return reduce(
      function_name, mask, bit, [](unsigned a, unsigned b) { return a | b; }, location);
}

}  // namespace tandem::emulation

/// Returns a mask of the lanes whose predicate is not zero.
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  return tandem::emulation::ballot("__ballot_sync", mask, predicate != 0, location);
}
inline int __any_sync(unsigned mask, int predicate,
                      tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  return tandem::emulation::ballot("__any_sync", mask, predicate != 0, location) != 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  return tandem::emulation::ballot("__all_sync", mask, predicate == 0, location) == 0;
}
/// Returns a mask of the lanes whose value is equal to the caller's value.
template <class T>
unsigned __match_any_sync(unsigned mask, T value,
                          tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) >= 4);
  uint64_t bits = 0, all[32];
  std::memcpy(&bits, &value, sizeof value);
  unsigned same = 0;
  for (unsigned rest = tandem::emulation::gather_lanes("__match_any_sync", mask, bits, all, location); rest;
       rest &= rest - 1)
    if (all[std::countr_zero(rest)] == bits) same |= rest & -rest;
  return same;
}

#define TANDEM_REDUCE_SYNC(function_name, T, expression)                                                           \
  inline T function_name(unsigned mask, T value,                                                                   \
                         tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) { \
    return tandem::emulation::reduce(                                                                              \
        #function_name, mask, value, [](T a, T b) -> T { return expression; }, location);                          \
  }
TANDEM_REDUCE_SYNC(__reduce_add_sync, unsigned, a + b)
TANDEM_REDUCE_SYNC(__reduce_add_sync, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
TANDEM_REDUCE_SYNC(__reduce_min_sync, unsigned, a < b ? a : b)
TANDEM_REDUCE_SYNC(__reduce_min_sync, int, a < b ? a : b)
TANDEM_REDUCE_SYNC(__reduce_max_sync, unsigned, a < b ? b : a)
TANDEM_REDUCE_SYNC(__reduce_max_sync, int, a < b ? b : a)
TANDEM_REDUCE_SYNC(__reduce_and_sync, unsigned, a& b)
TANDEM_REDUCE_SYNC(__reduce_or_sync, unsigned, a | b)
TANDEM_REDUCE_SYNC(__reduce_xor_sync, unsigned, a ^ b)
#undef TANDEM_REDUCE_SYNC

inline void __nanosleep(unsigned) { tandem::emulation::yield(); }
[[noreturn]] inline void __trap(
    tandem::emulation::SourceLocation location = tandem::emulation::SourceLocation::here()) {
  tandem::emulation::fail("__trap()", location);
}

#include "tandem/emulation/atomics.h"
#include "tandem/emulation/intrinsics.h"
