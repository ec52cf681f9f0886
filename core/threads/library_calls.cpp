// Implements LibraryCall: makes exit() wait for calls into other libraries, whose data it frees.
#include "tandem/core/threads/library_calls.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "tandem/core/threads/thread_kept.h"

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
  std::atomic<Ending> inside{Ending::none};  // argument of the current LibraryCall; Ending::none outside of calls

  ThreadState() {
    const std::lock_guard lock(threads().mutex);
    threads().all.push_back(this);
  }
  ~ThreadState() {
    const std::lock_guard lock(threads().mutex);
    std::erase(threads().all, this);
  }
};

std::atomic<Ending> ending{Ending::none};
std::atomic<ThreadState*> exiting{nullptr};

// A call first stores `inside` and then reads `ending`; this function first stores `ending` and then reads `inside`.
// All four accesses are sequentially consistent, so at least one of the two sees the other.
void come_to(Ending next) {
  if (ending.load() >= next) return;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  ThreadState* const mine = &ThreadKept<ThreadState>::get();
  exiting = mine;
  ending = next;
  if (threads().process != ::getpid()) return;  // in a forked child, the listed threads do not exist
  // Polls the mutex, because ThreadSanitizer does not support the timed wait of a std::timed_mutex.
  std::unique_lock lock(threads().mutex, std::try_to_lock);
  for (; !lock.owns_lock() && Clock::now() < deadline; (void)lock.try_lock())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (!lock.owns_lock()) return;
  for (const ThreadState* const thread : threads().all)
    while (thread != mine && thread->inside == next && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
}
void exit_begins() { come_to(Ending::exit_began); }
[[gnu::destructor]] void libraries_end() { come_to(Ending::libraries_ended); }

struct ExitSeen {
  ~ExitSeen() { std::atexit(exit_begins); }
};
thread_local ExitSeen exit_seen;
[[maybe_unused]] const ExitSeen* const of_loading_thread = &exit_seen;

}  // namespace

LibraryCall::LibraryCall(Ending end) : end_(end) {
  ThreadState& thread = ThreadKept<ThreadState>::get();
  thread.inside = end;
  const Ending now = ending;
  allowed_ = now < end;
  if (now < Ending::libraries_ended || end < Ending::libraries_ended || exiting == &thread) [[likely]]
    return;
  thread.inside = Ending::none;
  for (;;) ::pause();
}
LibraryCall::~LibraryCall() {
  static std::atomic<int> seen{0};
  // Registers exit_begins() again, so that it runs before the destructors of tables that the call has created. After a
  // thousand calls, the library has created all its tables.
  if (end_ == Ending::exit_began && allowed_ && seen.fetch_add(1, std::memory_order_relaxed) < 1000)
    std::atexit(exit_begins);
  ThreadKept<ThreadState>::get().inside.store(Ending::none, std::memory_order_release);
}

}  // namespace tandem::detail
