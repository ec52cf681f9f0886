// CUDA's atomic operations and fences, for simt.h. As in CUDA, an atomic operation alone orders nothing. To publish
// memory to another block, both sides need a fence:
//   partial[blockIdx.x] = sum;                               // write
//   __threadfence();
//   last = atomicAdd(&count, 1u) == gridDim.x - 1;           // the block that reads the last count ...
//   __threadfence();
//   if (last) total = add_up(partial);                       // ... sees all writes before the first fence
// ThreadSanitizer is told exactly this order (fences.h), so it detects a missing fence. Memory that the host changes
// too (page-locked memory) requires the system-wide operations (atomicCAS_system); other atomic operations on it throw.
#pragma once
#include <atomic>
#include <type_traits>

#include "tandem/emulation/running_thread.h"

#if defined(__SANITIZE_THREAD__)
#define TANDEM_TSAN_ATOMICS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TANDEM_TSAN_ATOMICS 1
#endif
#endif

namespace tandem::emulation {

template <class T, class... Choices>
concept OneOf = (std::is_same_v<T, Choices> || ...);

/// Computes *address = f(*address) atomically, and returns the old value. Only the types that CUDA supports are
/// accepted.
template <class T, class F> T atomic_update_of_system(T* address, F f) {
#if defined(TANDEM_TSAN_ATOMICS)
  before_atomic(address);
#endif
  const std::atomic_ref<T> cell(*address);
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, f(old), std::memory_order_relaxed)) {}
#if defined(TANDEM_TSAN_ATOMICS)
  after_atomic(address);
#endif
  return old;
}
/// Throws if the address is in page-locked host memory, because device-wide atomic operations are not atomic with
/// respect to the host.
void check_not_host_memory(const void* address);
template <class T, class F> T atomic_update(T* address, F f) {
  check_not_host_memory(address);
  return atomic_update_of_system(address, f);
}

}  // namespace tandem::emulation

#define TANDEM_ATOMIC(function_name, expression, ...)                                                         \
  template <tandem::emulation::OneOf<__VA_ARGS__> T> T function_name(T* address, std::type_identity_t<T> v) { \
    return tandem::emulation::atomic_update(address, [v](T x) -> T { return expression; });                   \
  }
// atomicAdd. For signed integers, sums wrap around on overflow.
TANDEM_ATOMIC(atomicAdd, x + v, unsigned, unsigned long long, float, double)
inline int atomicAdd(int* address, int v) {
  return static_cast<int>(atomicAdd(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(v)));
}
TANDEM_ATOMIC(atomicSub, x - v, unsigned)
inline int atomicSub(int* address, int v) {
  return static_cast<int>(atomicSub(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(v)));
}
TANDEM_ATOMIC(atomicMin, v < x ? v : x, int, unsigned, long long, unsigned long long)
TANDEM_ATOMIC(atomicMax, x < v ? v : x, int, unsigned, long long, unsigned long long)
TANDEM_ATOMIC(atomicAnd, x& v, int, unsigned, unsigned long long)
TANDEM_ATOMIC(atomicOr, x | v, int, unsigned, unsigned long long)
TANDEM_ATOMIC(atomicXor, x ^ v, int, unsigned, unsigned long long)
TANDEM_ATOMIC(atomicExch, ((void)x, v), int, unsigned, unsigned long long, float)
TANDEM_ATOMIC(atomicInc, x >= v ? 0 : x + 1, unsigned)
TANDEM_ATOMIC(atomicDec, x == 0 || x > v ? v : x - 1, unsigned)
#undef TANDEM_ATOMIC

template <tandem::emulation::OneOf<int, unsigned, unsigned long long, unsigned short> T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return tandem::emulation::atomic_update(address, [expected, v](T x) -> T { return x == expected ? v : x; });
}

template <tandem::emulation::OneOf<int, unsigned, unsigned long long, unsigned short> T>
T atomicCAS_system(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return tandem::emulation::atomic_update_of_system(address, [expected, v](T x) -> T { return x == expected ? v : x; });
}

inline void __threadfence_block() { tandem::emulation::fence(tandem::emulation::FenceScope::block); }
inline void __threadfence() { tandem::emulation::fence(tandem::emulation::FenceScope::device); }
inline void __threadfence_system() { tandem::emulation::fence(tandem::emulation::FenceScope::device); }
