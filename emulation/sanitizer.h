// Tells AddressSanitizer and ThreadSanitizer about fibers and memory. Without these sanitizers, everything here is a
// no-op.
//
// Kernels are compiled with -fsanitize=thread, so ThreadSanitizer sees their reads and writes. The emulation itself is
// compiled without it, because its own accesses are not part of the CUDA threads. It tells ThreadSanitizer which CUDA
// thread runs (TsanIdentity) and which accesses are ordered (SyncPoint). Nothing else orders the accesses of two CUDA
// threads.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_EMULATION_ASAN 1
#endif
#endif
// TANDEM_EMULATION_TSAN is defined by the build instead of here: the emulation is compiled without -fsanitize=thread,
// so it cannot detect ThreadSanitizer by a predefined macro.

#if defined(TANDEM_EMULATION_ASAN)
#include <sanitizer/asan_interface.h>
#endif
#if defined(TANDEM_EMULATION_TSAN)
#include <cstdlib>
#include <utility>
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#endif

namespace tandem::emulation {

#if defined(TANDEM_EMULATION_ASAN)
constexpr bool kAsanEnabled = true;
inline void forbid_access(const void* memory, size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void allow_access(const void* memory, size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
constexpr bool kAsanEnabled = false;
inline void forbid_access(const void*, size_t) {}
inline void allow_access(const void*, size_t) {}
#endif

#if defined(TANDEM_EMULATION_TSAN)
constexpr bool kTsanEnabled = true;

/// A thread as ThreadSanitizer sees it. Accesses of one identity are ordered; accesses of two identities are not,
/// unless SyncPoints order them. Creating an identity takes about a millisecond and 0.8 MB, so identities are reused.
class TsanIdentity {
 public:
  TsanIdentity() : handle_(__tsan_create_fiber(0)) {}
  ~TsanIdentity() {
    if (handle_) __tsan_destroy_fiber(handle_);
  }
  TsanIdentity(TsanIdentity&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  void* handle() const { return handle_; }
  static void* current() { return __tsan_get_current_fiber(); }
  /// Makes `handle` the identity to which ThreadSanitizer attributes accesses from now on. Does not order any accesses.
  static void switch_to_fiber(void* handle) { __tsan_switch_to_fiber(handle, /*no synchronization*/ 1); }

 private:
  void* handle_;
};

/// Tells ThreadSanitizer that all accesses before release() happen before all accesses after a later acquire(). Each
/// SyncPoint allocates one byte on the heap, because ThreadSanitizer keeps a clock per address until the memory is
/// freed.
class SyncPoint {
 public:
  SyncPoint() : address_(std::malloc(1)) {}
  ~SyncPoint() { std::free(address_); }
  SyncPoint(SyncPoint&& other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
  SyncPoint& operator=(SyncPoint&& other) noexcept {
    std::swap(address_, other.address_);
    return *this;
  }
  void release() { __tsan_release(address_); }
  void acquire() { __tsan_acquire(address_); }

 private:
  void* address_;
};

/// Scope guard that hides memory accesses, allocations and frees from ThreadSanitizer: they neither race with CUDA
/// threads nor order them.
class TsanIgnoreGuard {
 public:
  TsanIgnoreGuard() { __tsan_ignore_thread_begin(); }
  ~TsanIgnoreGuard() { __tsan_ignore_thread_end(); }
  TsanIgnoreGuard(const TsanIgnoreGuard&) = delete;
};
#else
constexpr bool kTsanEnabled = false;

class TsanIdentity {
 public:
  void* handle() const { return nullptr; }
  static void* current() { return nullptr; }
  static void switch_to_fiber(void*) {}
};
struct SyncPoint {
  void release() {}
  void acquire() {}
};
struct TsanIgnoreGuard {
  TsanIgnoreGuard() {}  // not defaulted, because compilers would then warn of unused variables
};
#endif

}  // namespace tandem::emulation
