// Calls into other libraries, and exit(), which waits for them.
#include "tandem/core/threads/library_calls.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "tandem/core/threads/thread_kept.h"

// Note [What exit() does, in this order]
// 1. It destroys the thread_local objects of the thread that called it.
// 2. It calls the functions given to atexit() and destroys static objects, the latest first. oneDNN makes static tables
//    when it needs them first. A primitive that is made while they are destroyed reads freed memory; those made before
//    can still be run. From here on none is made, and our own kernels do the work.
// 3. It calls the destructors of shared libraries, ours before those that it needs. OpenBLAS's frees its tables and
//    buffers, without which no call works.
// The first function of step 2 must be ours: it is given to atexit() in step 1, by an object of the thread that loaded
// this library. Another thread may call exit(), so it is also given when a primitive was made.
// One gap is left: the call that makes a table of oneDNN, the first of its kind, may be under way when another thread
// calls exit(). The table is destroyed before any function that could wait for that call.

namespace tandem::detail {
namespace {

struct ThreadState;
struct Threads {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::vector<ThreadState*> all;
};
/// Never destroyed: it is used to the very end.
Threads& threads() {
  static Threads* const made = new Threads;
  return *made;
}

/// State of one thread that has called a library.
struct ThreadState {
  std::atomic<Ending> inside{Ending::none};  // the `end` of the call in progress

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

// A call says that it is inside and then reads `ending`; this writes `ending` and then looks who is inside. Both orders
// are sequentially consistent, so at least one of the two sees the other.
void come_to(Ending next) {
  if (ending.load() >= next) return;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
  ThreadState* const mine = &ThreadKept<ThreadState>::get();
  exiting = mine;
  ending = next;
  if (threads().process != ::getpid()) return;  // a fork, without the threads that the list names
  // Polls: ThreadSanitizer does not know how a timed_mutex waits.
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
  // By its thousandth call a library has made all its tables.
  if (end_ == Ending::exit_began && allowed_ && seen.fetch_add(1, std::memory_order_relaxed) < 1000)
    std::atexit(exit_begins);
  ThreadKept<ThreadState>::get().inside.store(Ending::none, std::memory_order_release);
}

}  // namespace tandem::detail
