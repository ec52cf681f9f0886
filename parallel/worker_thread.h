// WorkerThread: a thread that runs posted jobs in order. Internal.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "tandem/core/thread_context.h"

namespace tandem::detail {

/// A thread that runs posted jobs. Each job runs in the context with which it was posted (rank, grad mode, share of the
/// cores), and must not throw. The destructor runs the remaining jobs. The destructor must not be called from a job, so
/// the context of a job must not own the object that owns this thread.
class WorkerThread {
 public:
  WorkerThread();
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  void post(ThreadContext context, std::function<void()> job);

 private:
  struct Job {
    ThreadContext context;
    std::function<void()> run;
  };
  void run_jobs();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::thread thread_;  // last member: the thread uses the members above
};

}  // namespace tandem::detail
