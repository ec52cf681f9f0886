// Fibers: functions that can pause and be resumed later, each on its own stack, all in one host thread. A switch takes
// a few nanoseconds.
#pragma once
#include <cstddef>

#include "tandem/emulation/sanitizer.h"

#if !defined(__x86_64__) || defined(TANDEM_FIBER_UCONTEXT)
#undef TANDEM_FIBER_UCONTEXT
#define TANDEM_FIBER_UCONTEXT 1
#include <ucontext.h>
#endif

namespace tandem::emulation {

/// A stack on which functions run, one after another. Only the host thread that constructed the fiber may use it. A
/// stack overflow hits an inaccessible guard page.
class Fiber {
 public:
  /// @param identity  ThreadSanitizer identity of everything that runs on this fiber. It never changes, although the
  ///     fiber runs many functions: accesses of two identities to the same stack would count as a race. Must outlive
  ///     the fiber.
  explicit Fiber(const TsanIdentity& identity);
  ~Fiber();
  Fiber(const Fiber&) = delete;

  /// Runs body(argument) on this stack; returns when the body pauses or has ended. The body must not throw.
  void start(void (*body)(void*), void* argument);
  /// Continues the body where it paused; returns when it pauses again or has ended.
  void resume();
  /// Must be called on the fiber. Pauses the body, and returns to the caller of start() or resume().
  void pause() { switch_to_host(/*for_good=*/false); }
  bool has_ended() const { return has_ended_; }

 private:
  static void run_body();
  void switch_to_fiber();
  void finish_switch();
  void switch_to_host(bool for_good);
  void initialize_stack();
  void switch_in();
  void switch_out();

  const TsanIdentity& identity_;
  char* mapping_;       // memory map of the fiber: a guard page, then the stack, which grows down towards it
  size_t stack_bytes_;  // size of the stack in bytes
  bool has_ended_ = true;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
#if defined(TANDEM_FIBER_UCONTEXT)
  ucontext_t fiber_context_, host_context_;
#else
  void *fiber_context_ = nullptr, *host_context_ = nullptr;  // stack pointers
#endif
  void* host_identity_ = nullptr;
#if defined(TANDEM_EMULATION_ASAN)
  // Data for AddressSanitizer, which must know the current stack: the fake stacks of the fiber and of the host, and the
  // bounds of the host's stack.
  void *fiber_fake_stack_ = nullptr, *host_fake_stack_ = nullptr;
  const void* host_stack_bottom_ = nullptr;
  size_t host_stack_bytes_ = 0;
#endif
};

}  // namespace tandem::emulation
