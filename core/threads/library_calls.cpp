// Implements DelayExitGuard: makes exit() wait for calls into other libraries, whose data it frees.
#include "tandem/core/threads/library_calls.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "tandem/core/threads/late_thread_local.h"

// Note [Steps of exit()]. In this order:
// 1. It destroys the thread_local objects of the thread that called it.
// 2. It calls the functions registered with atexit() and destroys static objects, in reverse order. oneDNN creates
//    static tables when it first needs them. A primitive that is created while these are destroyed reads freed memory;
//    existing primitives can still run. From this step on, no primitive is created, and Tandem's own kernels do the
//    work.
// 3. It calls the destructors of shared libraries, Tandem's before those of its dependencies. OpenBLAS's destructor
//    frees its tables and buffers, without which no call works.
// The first function of step 2 must be exit_begins(). It is registered in step 1, by a thread_local object of the
// thread that loaded this library. In case another thread calls exit(), it is also registered after each creation of a
// primitive.
// One gap remains: a call that creates a table of oneDNN for the first time may be running when another thread calls
// exit(). Then the table is destroyed before any function that could wait for that call.

namespace tandem::detail {
namespace {

struct ThreadState;
struct Threads {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::vector<ThreadState*> all;
};
/// Never destroyed: it is used until the process ends.
Threads& threads() {
  static Threads* const made = new Threads;
  return *made;
}

/// State of a thread that has called a library.
struct ThreadState {
  std::atomic<ExitStage> current_call{
      ExitStage::none};  // argument of the current DelayExitGuard; ExitStage::none outside of calls

  ThreadState() {
    const std::lock_guard lock(threads().mutex);
    threads().all.push_back(this);
  }
  ~ThreadState() {
    const std::lock_guard lock(threads().mutex);
    std::erase(threads().all, this);
  }
};

std::atomic<ExitStage> exit_stage{ExitStage::none};
std::atomic<ThreadState*> exiting_thread{nullptr};

// A call first stores `current_call` and then reads `exit_stage`; this function first stores `exit_stage` and then
// reads `current_call`. All four accesses are sequentially consistent, so at least one of the two sees the other.
void enter_stage(ExitStage next) {
  if (exit_stage.load() >= next) return;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  ThreadState* const mine = &LateThreadLocal<ThreadState>::get();
  exiting_thread = mine;
  exit_stage = next;
  if (threads().process != ::getpid()) return;  // in a forked child, the threads in the list do not exist
  // Polls the mutex, because ThreadSanitizer does not support the timed wait of a std::timed_mutex.
  std::unique_lock lock(threads().mutex, std::try_to_lock);
  for (; !lock.owns_lock() && Clock::now() < deadline; (void)lock.try_lock())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (!lock.owns_lock()) return;
  for (const ThreadState* const thread : threads().all)
    while (thread != mine && thread->current_call == next && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
}
void exit_begins() { enter_stage(ExitStage::exit_began); }
[[gnu::destructor]] void libraries_end() { enter_stage(ExitStage::libraries_ended); }

struct ExitHook {
  ~ExitHook() { std::atexit(exit_begins); }
};
thread_local ExitHook exit_hook;
[[maybe_unused]] const ExitHook* const of_loading_thread = &exit_hook;

}  // namespace

DelayExitGuard::DelayExitGuard(ExitStage end) : end_(end) {
  ThreadState& thread = LateThreadLocal<ThreadState>::get();
  thread.current_call = end;
  const ExitStage now = exit_stage;
  allowed_ = now < end;
  if (now < ExitStage::libraries_ended || end < ExitStage::libraries_ended || exiting_thread == &thread) [[likely]]
    return;
  thread.current_call = ExitStage::none;
  for (;;) ::pause();
}
DelayExitGuard::~DelayExitGuard() {
  static std::atomic<int> seen{0};
  // Registers exit_begins() again, so that it runs before the destructors of tables that the call has created. After a
  // thousand calls, the library has created all its tables.
  if (end_ == ExitStage::exit_began && allowed_ && seen.fetch_add(1, std::memory_order_relaxed) < 1000)
    std::atexit(exit_begins);
  LateThreadLocal<ThreadState>::get().current_call.store(ExitStage::none, std::memory_order_release);
}

}  // namespace tandem::detail
