// WorkerThread: a thread that runs posted jobs in order. Internal.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "tandem/core/rank_context.h"

namespace tandem::detail {

/// Each job runs in the context (rank, grad mode, share of the cores) that it was posted with, and must not throw. The
/// destructor runs the remaining jobs. It must not run inside a job, so a job's context must not keep this thread's
/// owner alive.
class WorkerThread {
 public:
  WorkerThread();
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  void post(RankContext context, std::function<void()> job);

 private:
  struct Job {
    RankContext context;
    std::function<void()> run;
  };
  void serve();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::thread thread_;  // last member: the thread uses the others
};

}  // namespace tandem::detail
