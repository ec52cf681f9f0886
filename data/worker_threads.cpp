// Implements WorkerThreads and ConditionVariable by std::thread and std::condition_variable.
#include "tandem/data/worker_threads.h"

#include <condition_variable>
#include <vector>

#include "tandem/core/internal.h"
#include "tandem/core/thread_context.h"
#include "tandem/core/threads/start_thread.h"

namespace tandem::data::detail {

struct WorkerThreads::Impl {
  std::vector<std::thread> threads;
};
WorkerThreads::WorkerThreads() : threads_(new Impl) {}
WorkerThreads::~WorkerThreads() { join(); }
void WorkerThreads::start_worker(const char* what, std::function<void()> run) {
  ThreadContext context = ThreadContext::current();
  context.rank_state();         // creates the rank's state if there is none yet, so that all threads share it
  context.generator = nullptr;  // the generator of a GeneratorGuard may be destroyed before the thread ends
  threads_->threads.push_back(start_thread(what, [run = std::move(run), context = std::move(context)]() mutable {
    const ThreadContextGuard guard(std::move(context));
    run();
  }));
}
void WorkerThreads::join() {
  for (std::thread& each : threads_->threads) each.join();
  threads_->threads.clear();
}

struct ConditionVariable::Impl {
  std::condition_variable condition;
};
ConditionVariable::ConditionVariable() : impl_(new Impl) {}
ConditionVariable::~ConditionVariable() = default;
void ConditionVariable::notify_one() { impl_->condition.notify_one(); }
void ConditionVariable::notify_all() { impl_->condition.notify_all(); }
void ConditionVariable::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready) {
  impl_->condition.wait(lock, ready);
}
bool ConditionVariable::wait_for(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds timeout,
                                 const std::function<bool()>& ready) {
  return impl_->condition.wait_for(lock, timeout, ready);
}

}  // namespace tandem::data::detail
