// Threads of loaders, and a condition variable for them. They hold pointers to the std types, so that files that
// include this header need not compile <thread> and <condition_variable>. Internal.
#pragma once
#include <functional>
#include <mutex>

#include "tandem/core/durations.h"
#include "tandem/core/owned_ptr.h"

namespace tandem::data::detail {

/// A group of threads, which join() or the destructor joins.
class WorkerThreads {
 public:
  WorkerThreads();
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  /// Runs a function on a new thread, in the ThreadContext of the calling thread.
  /// @throws Error that names `what` if the system cannot create a thread
  void start_worker(const char* what, std::function<void()> run);
  /// Waits for all threads to end.
  void join();

 private:
  struct Impl;
  tandem::detail::OwnedPtr<Impl> threads_;
};

/// A std::condition_variable.
class ConditionVariable {
 public:
  ConditionVariable();
  ~ConditionVariable();
  ConditionVariable(const ConditionVariable&) = delete;
  void notify_one();
  void notify_all();
  void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready);
  /// Waits until ready() is true or the timeout has passed. Returns ready().
  bool wait_for(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds timeout,
                const std::function<bool()>& ready);

 private:
  struct Impl;
  tandem::detail::OwnedPtr<Impl> impl_;
};

}  // namespace tandem::data::detail
