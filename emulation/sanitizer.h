// What AddressSanitizer and ThreadSanitizer are told about fibers and memory. Without either, all of this is nothing.
//
// ThreadSanitizer sees what the kernels read and write, since they are compiled with -fsanitize=thread, but the
// emulation itself is not: its own reads and writes are no part of what the CUDA threads do. It tells who runs
// (RaceIdentity) and what is ordered (SyncPoint), and nothing else orders two CUDA threads.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_EMULATION_ASAN 1
#endif
#endif
// TANDEM_EMULATION_TSAN comes from the build, since the files that use it are compiled without -fsanitize=thread.

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
constexpr bool kFindsAccesses = true;
inline void forbid_access(const void* memory, size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void allow_access(const void* memory, size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
constexpr bool kFindsAccesses = false;
inline void forbid_access(const void*, size_t) {}
inline void allow_access(const void*, size_t) {}
#endif

#if defined(TANDEM_EMULATION_TSAN)
constexpr bool kFindsRaces = true;

/// Someone who acts, as ThreadSanitizer knows them. What one identity does is in order; what two do is not, unless
/// SyncPoints order it. Making one takes about a millisecond and 0.8 MB, so they are kept and used again.
class RaceIdentity {
 public:
  RaceIdentity() : handle_(__tsan_create_fiber(0)) {}
  ~RaceIdentity() {
    if (handle_) __tsan_destroy_fiber(handle_);
  }
  RaceIdentity(RaceIdentity&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  void* handle() const { return handle_; }
  static void* current() { return __tsan_get_current_fiber(); }
  /// From now on `handle` acts. Orders nothing.
  static void become(void* handle) { __tsan_switch_to_fiber(handle, /*no synchronization*/ 1); }

 private:
  void* handle_;
};

/// What was done before a release() is ordered before what is done after an acquire() that follows. ThreadSanitizer
/// keeps its clock by address, until that memory is freed: hence a byte of the heap for each.
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

/// Memory that is allocated, written or freed in its scope is so by nobody: CUDA threads that use it do not race with
/// that, and are not ordered by it either.
class Unseen {
 public:
  Unseen() { __tsan_ignore_thread_begin(); }
  ~Unseen() { __tsan_ignore_thread_end(); }
  Unseen(const Unseen&) = delete;
};
#else
constexpr bool kFindsRaces = false;

class RaceIdentity {
 public:
  void* handle() const { return nullptr; }
  static void* current() { return nullptr; }
  static void become(void*) {}
};
struct SyncPoint {
  void release() {}
  void acquire() {}
};
struct Unseen {
  Unseen() {}  // not trivial: a variable of it is meant
};
#endif

}  // namespace tandem::emulation
