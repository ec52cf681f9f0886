// A thread that runs what it is given, one after the other. Internal.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "tandem/core/rank_context.h"
#include "tandem/core/start_thread.h"

namespace tandem::detail {

/// Each job runs in the context (rank, grad mode, share of the cores) that it was posted with, and must not throw. The
/// destructor runs what is left; it must not run in a job, so a job's context must not keep this thread's owner alive.
class WorkerThread {
 public:
  WorkerThread() : thread_(start_thread("a device or a process group", [this] { serve(); })) {}
  ~WorkerThread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  WorkerThread(const WorkerThread&) = delete;
  void post(RankContext context, std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back({std::move(context), std::move(job)});
    }
    wake_.notify_one();
  }

 private:
  struct Job {
    RankContext context;
    std::function<void()> run;
  };
  void serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      const RankContextGuard context(std::move(job.context));
      job.run();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tandem::detail
