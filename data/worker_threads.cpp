// Implements WorkerThreads and ConditionVariable by std::thread and std::condition_variable.
#include "tandem/data/worker_threads.h"

#include <condition_variable>
#include <vector>

#include "tandem/core/internal.h"
#include "tandem/core/rank_context.h"
#include "tandem/core/threads/start_thread.h"

namespace tandem::data::detail {

struct WorkerThreads::Threads {
  std::vector<std::thread> all;
};
WorkerThreads::WorkerThreads() : threads_(new Threads) {}
WorkerThreads::~WorkerThreads() { join(); }
void WorkerThreads::start(const char* what, std::function<void()> run) {
  RankContext context = RankContext::current();
  context.state();              // creates the state now, so that all threads share it
  context.generator = nullptr;  // the generator of a GeneratorGuard may be destroyed before the thread ends
  threads_->all.push_back(start_thread(what, [run = std::move(run), context = std::move(context)]() mutable {
    const RankContextGuard guard(std::move(context));
    run();
  }));
}
void WorkerThreads::join() {
  for (std::thread& each : threads_->all) each.join();
  threads_->all.clear();
}

struct Condition::Variable {
  std::condition_variable it;
};
Condition::Condition() : variable_(new Variable) {}
Condition::~Condition() = default;
void Condition::notify_one() { variable_->it.notify_one(); }
void Condition::notify_all() { variable_->it.notify_all(); }
void Condition::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready) {
  variable_->it.wait(lock, ready);
}
bool Condition::wait_for(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds timeout,
                         const std::function<bool()>& ready) {
  return variable_->it.wait_for(lock, timeout, ready);
}

}  // namespace tandem::data::detail
