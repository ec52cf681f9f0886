// Implements WorkerThread: a thread that runs posted jobs one after the other.
#include "tandem/parallel/worker_thread.h"

#include "tandem/core/threads/start_thread.h"

namespace tandem::detail {

WorkerThread::WorkerThread() : thread_(start_thread("a device or a process group", [this] { run_jobs(); })) {}
WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}
void WorkerThread::post(ThreadContext context, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(context), std::move(job)});
  }
  wake_.notify_one();
}
void WorkerThread::run_jobs() {
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const ThreadContextGuard context(std::move(job.context));
    job.run();
  }
}

}  // namespace tandem::detail
