// Fibers: functions that can pause in the middle and be resumed later, each on a stack of its own, all in one host
// thread. A switch takes a few nanoseconds.
#pragma once
#include <cstddef>

#include "tandem/emulation/sanitizer.h"

#if !defined(__x86_64__) || defined(TANDEM_FIBER_UCONTEXT)
#undef TANDEM_FIBER_UCONTEXT
#define TANDEM_FIBER_UCONTEXT 1
#include <ucontext.h>
#endif

namespace tandem::emulation {

/// One stack, on which one function after another can run. It stays with the host thread that made it. A stack that
/// overflows runs into a page that nobody may touch.
class Fiber {
 public:
  /// @param identity  who acts while it runs; the same for its whole life, since a stack is used again, and what two
  ///                  identities do there would be a race. Must outlive it.
  explicit Fiber(const RaceIdentity& identity);
  ~Fiber();
  Fiber(const Fiber&) = delete;

  /// Runs body(argument) on this stack; returns when it pauses or has ended. It must not throw.
  void start(void (*body)(void*), void* argument);
  /// Continues where it paused; returns when it pauses again or has ended.
  void resume();
  /// Called on the fiber: goes back to whoever started or resumed it.
  void pause() { leave(/*for_good=*/false); }
  bool ended() const { return ended_; }

 private:
  static void main();
  void enter();
  void arrive();
  void leave(bool for_good);
  void prepare();
  void switch_in();
  void switch_out();

  const RaceIdentity& identity_;
  char* mapping_;  // a guard page, then the stack, which grows down to it
  size_t usable_;  // bytes of the stack
  bool ended_ = true;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
#if defined(TANDEM_FIBER_UCONTEXT)
  ucontext_t own_, host_;
#else
  void *own_ = nullptr, *host_ = nullptr;  // stack pointers
#endif
  void* host_identity_ = nullptr;
#if defined(TANDEM_EMULATION_ASAN)
  // Its fake stacks, and the bounds of the host's: AddressSanitizer must always know on which stack it is.
  void *own_fake_ = nullptr, *host_fake_ = nullptr;
  const void* host_bottom_ = nullptr;
  size_t host_bytes_ = 0;
#endif
};

}  // namespace tandem::emulation
