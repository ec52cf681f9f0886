// Implements Fiber: switches between stacks by a few lines of assembly, and reports each switch to the sanitizers.
#include "tandem/emulation/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

#if defined(TANDEM_EMULATION_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tandem::emulation {

// Size of a stack, large enough for unoptimised and instrumented kernels. A stack only reserves address space: a page
// takes memory once it is accessed.
constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kStackGuardBytes = 64 * 1024;  // at least one page, for all supported page sizes
// Stacks start at different offsets; with equal offsets, the used parts of all stacks would compete for a few cache
// lines.
constexpr size_t kStackStaggerBytes = 7 * 64, kMaxStackStaggerBytes = 16 * 1024;

// Fiber that is being started. Fiber::main reads it, because main has no parameters.
static thread_local Fiber* starting_fiber = nullptr;

Fiber::Fiber(const TsanIdentity& identity) : identity_(identity) {
  void* const memory = mmap(nullptr, kStackGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(memory);
  static thread_local size_t count = 0;
  stack_bytes_ = kStackBytes - count++ * kStackStaggerBytes % kMaxStackStaggerBytes;
  mprotect(mapping_, kStackGuardBytes, PROT_NONE);
}

Fiber::~Fiber() {
  // AddressSanitizer still has the frame of Fiber::main poisoned, because it never returns
  allow_access(mapping_ + kStackGuardBytes, kStackBytes);
  munmap(mapping_, kStackGuardBytes + kStackBytes);
}

void Fiber::start(void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  has_ended_ = false;
  initialize_stack();
  starting_fiber = this;
  switch_to_fiber();
}

void Fiber::resume() { switch_to_fiber(); }

void Fiber::run_body() {
  Fiber* const self = starting_fiber;
  self->finish_switch();
  self->body_(self->argument_);
  self->has_ended_ = true;
  self->switch_to_host(/*for_good=*/true);
  std::abort();  // unreachable: an ended fiber is not resumed, only started again
}

// Each switch of stacks is reported to both sanitizers before it happens, and to AddressSanitizer also afterwards.

void Fiber::switch_to_fiber() {
#if defined(TANDEM_EMULATION_ASAN)
  __sanitizer_start_switch_fiber(&host_fake_stack_, mapping_ + kStackGuardBytes, stack_bytes_);
#endif
  host_identity_ = TsanIdentity::current();
  TsanIdentity::switch_to_fiber(identity_.handle());
  switch_in();
#if defined(TANDEM_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::finish_switch() {
#if defined(TANDEM_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(fiber_fake_stack_, &host_stack_bottom_, &host_stack_bytes_);
#endif
}

void Fiber::switch_to_host([[maybe_unused]] bool for_good) {
#if defined(TANDEM_EMULATION_ASAN)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fiber_fake_stack_, host_stack_bottom_, host_stack_bytes_);
  if (for_good) fiber_fake_stack_ = nullptr;  // the call above has freed AddressSanitizer's fake stack of this fiber
#endif
  TsanIdentity::switch_to_fiber(host_identity_);
  switch_out();
  finish_switch();
}

#if defined(TANDEM_FIBER_UCONTEXT)

void Fiber::initialize_stack() {
  getcontext(&fiber_context_);
  fiber_context_.uc_stack.ss_sp = mapping_ + kStackGuardBytes;
  fiber_context_.uc_stack.ss_size = stack_bytes_;
  fiber_context_.uc_link = nullptr;
  makecontext(&fiber_context_, &Fiber::run_body, 0);
}
void Fiber::switch_in() { swapcontext(&host_context_, &fiber_context_); }
void Fiber::switch_out() { swapcontext(&fiber_context_, &host_context_); }

#else

// Saves the callee-saved registers and the stack pointer, then restores them from the other stack and returns there.
// The floating-point control state is not switched: it belongs to the host thread.
extern "C" void tandem_switch_stack(void** save, void* load);
asm(R"(
.pushsection .text
.globl tandem_switch_stack
.hidden tandem_switch_stack
.type tandem_switch_stack, @function
.balign 16
tandem_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tandem_switch_stack, . - tandem_switch_stack
.popsection
)");

void Fiber::initialize_stack() {
  // Prepare the stack as if Fiber::main had just been called. The return address of main is 0, at which debuggers stop;
  // its own address is 8 modulo 16, as the ABI requires. Below it are the values that tandem_switch_stack pops: six
  // registers, and the address of main, to which it returns.
  auto* top = reinterpret_cast<uintptr_t*>(mapping_ + kStackGuardBytes + stack_bytes_);
  *--top = 0;
  *--top = reinterpret_cast<uintptr_t>(&Fiber::run_body);
  for (int i = 0; i < 6; ++i) *--top = 0;
  fiber_context_ = top;
}
void Fiber::switch_in() { tandem_switch_stack(&host_context_, fiber_context_); }
void Fiber::switch_out() { tandem_switch_stack(&fiber_context_, host_context_); }

#endif

}  // namespace tandem::emulation
