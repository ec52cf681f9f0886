// The threads of loaders, and what they wait with. Both are behind a pointer, as <thread> and <condition_variable>
// would take each of the users' files long to compile. Internal.
#pragma once
#include <functional>
#include <mutex>

#include "tandem/core/durations.h"
#include "tandem/core/owned.h"

namespace tandem::data::detail {

/// Threads that end with this, or at join().
class WorkerThreads {
 public:
  WorkerThreads();
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  /// Runs a function on a thread of its own, in the RankContext of the one that calls this.
  /// @throws Error naming `what` when the system has no thread to give
  void start(const char* what, std::function<void()> run);
  /// Waits for all of them to end.
  void join();

 private:
  struct Threads;
  tandem::detail::Owned<Threads> threads_;
};

/// A std::condition_variable.
class Condition {
 public:
  Condition();
  ~Condition();
  Condition(const Condition&) = delete;
  void notify_one();
  void notify_all();
  void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready);
  /// Whether it was ready before the timeout passed.
  bool wait_for(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds timeout,
                const std::function<bool()>& ready);

 private:
  struct Variable;
  tandem::detail::Owned<Variable> variable_;
};

}  // namespace tandem::data::detail
