#include "tandem/parallel/collectives/queued_work.h"

#include "tandem/parallel/rethrow.h"

namespace tandem::distributed {

double QueuedWork::seconds() const {
  const std::lock_guard lock(mutex_);
  if (!done_ || error_ || device_.is_cpu()) return seconds_;
  end_.synchronize();
  return begin_.elapsed_time(end_) / 1e3;
}
void QueuedWork::wait_until_queued() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });  // the communicator's waits end within the timeout
  if (error_) detail::rethrow_named(error_, "");
}
void QueuedWork::wait() {
  wait_until_queued();
  if (failure_) failure_->check();
  if (device_.is_cuda()) end_.wait(cuda::current_stream(device_));
}
void QueuedWork::synchronize() {
  wait_until_queued();
  end_.synchronize();
  if (failure_) failure_->check();
}
void QueuedWork::begin() {
  start_ = std::chrono::steady_clock::now();
  if (device_.is_cuda()) begin_.record(cuda::current_stream(device_));
}
void QueuedWork::finish(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  error_ = error;
  if (device_.is_cuda() && !error_) try {
      end_.record(cuda::current_stream(device_));
    } catch (...) {
      error_ = std::current_exception();
    }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  done_ = true;
  changed_.notify_all();
}

}  // namespace tandem::distributed
