// Implements DelayExitGuard: makes exit() wait for calls into other libraries, whose data it frees.
#include "tandem/core/threads/delay_exit_guard.h"

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
// The first function of step 2 must be on_exit_begin(). It is registered in step 1, by a thread_local object of the
// thread that loaded this library. In case another thread calls exit(), it is also registered after each creation of a
// primitive.
// One gap remains: a call that creates a table of oneDNN for the first time may be running when another thread calls
// exit(). Then the table is destroyed before any function that could wait for that call.

namespace tandem::detail {
namespace {

struct ThreadState;
struct ThreadRegistry {
  const pid_t process_id = ::getpid();
  std::mutex mutex;
  std::vector<ThreadState*> threads;
};
/// Never destroyed: it is used until the process ends.
ThreadRegistry& thread_registry() {
  static ThreadRegistry* const made = new ThreadRegistry;
  return *made;
}

/// State of a thread that has called a library.
struct ThreadState {
  // argument of this thread's current DelayExitGuard; ExitStage::none if the thread is inside no library
  std::atomic<ExitStage> current_end_stage{ExitStage::none};

  ThreadState() {
    const std::lock_guard lock(thread_registry().mutex);
    thread_registry().threads.push_back(this);
  }
  ~ThreadState() {
    const std::lock_guard lock(thread_registry().mutex);
    std::erase(thread_registry().threads, this);
  }
};

std::atomic<ExitStage> exit_stage{ExitStage::none};
std::atomic<ThreadState*> exiting_thread{nullptr};

// A call into a library first stores `current_end_stage` and then reads `exit_stage`; this function first stores
// `exit_stage` and then reads `current_end_stage`. All four accesses are sequentially consistent, so at least one of
// the two sees the other.
void enter_exit_stage(ExitStage next) {
  if (exit_stage.load() >= next) return;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  ThreadState* const mine = &LateThreadLocal<ThreadState>::get();
  exiting_thread = mine;
  exit_stage = next;
  if (thread_registry().process_id != ::getpid()) return;  // in a forked child, the threads in the list do not exist
  // Polls the mutex, because ThreadSanitizer does not support the timed wait of a std::timed_mutex.
  std::unique_lock lock(thread_registry().mutex, std::try_to_lock);
  for (; !lock.owns_lock() && Clock::now() < deadline; (void)lock.try_lock())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (!lock.owns_lock()) return;
  for (const ThreadState* const thread : thread_registry().threads)
    while (thread != mine && thread->current_end_stage == next && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
}
void on_exit_begin() { enter_exit_stage(ExitStage::exit_began); }
[[gnu::destructor]] void on_libraries_end() { enter_exit_stage(ExitStage::libraries_ended); }

struct ExitHook {
  ~ExitHook() { std::atexit(on_exit_begin); }
};
thread_local ExitHook exit_hook;
[[maybe_unused]] const ExitHook* const loading_thread_exit_hook = &exit_hook;

}  // namespace

DelayExitGuard::DelayExitGuard(ExitStage end) : end_stage_(end) {
  ThreadState& thread = LateThreadLocal<ThreadState>::get();
  thread.current_end_stage = end;
  const ExitStage now = exit_stage;
  allowed_ = now < end;
  if (now < ExitStage::libraries_ended || end < ExitStage::libraries_ended || exiting_thread == &thread) [[likely]]
    return;
  thread.current_end_stage = ExitStage::none;
  for (;;) ::pause();
}
DelayExitGuard::~DelayExitGuard() {
  static std::atomic<int> seen{0};
  // Registers on_exit_begin() again, so that it runs before the destructors of tables that the call has created. After
  // a thousand calls, the library has created all its tables.
  if (end_stage_ == ExitStage::exit_began && allowed_ && seen.fetch_add(1, std::memory_order_relaxed) < 1000)
    std::atexit(on_exit_begin);
  LateThreadLocal<ThreadState>::get().current_end_stage.store(ExitStage::none, std::memory_order_release);
}

}  // namespace tandem::detail
