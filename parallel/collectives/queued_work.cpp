// Implements QueuedWork: waits for a queued collective and its stream, and throws the collective's error.
#include "tandem/parallel/collectives/queued_work.h"

#include "tandem/parallel/rethrow.h"

namespace tandem::distributed {

double QueuedWork::elapsed_seconds() const {
  const std::lock_guard lock(mutex_);
  if (!has_returned_ || error_ || device_.is_cpu()) return seconds_;
  end_event_.synchronize();
  return begin_event_.elapsed_time(end_event_) / 1e3;
}
std::exception_ptr QueuedWork::exception() const {
  if (!is_completed()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (error_ || !failure_ || failure_->what().empty()) return error_;
  return std::make_exception_ptr(DistributedError(failure_->what()));
}
void QueuedWork::wait_until_queued(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (timeout == kNoTimeout)
    // needs no timeout, because the communicator ends the operation at the group's timeout
    changed_.wait(lock, [this] { return has_returned_; });
  else
    TANDEM_CHECK_AS(DistributedError, changed_.wait_for(lock, timeout, [this] { return has_returned_; }), call_.str(),
                    ": Operation timed out! It did not finish within ", timeout.count(), " ms, and continues");
  if (!error_) return;
  if (failure_reported_) *failure_reported_ = true;
  detail::rethrow_named(error_, "");
}
void QueuedWork::check_failure() {
  if (!failure_) return;
  if (failure_reported_ && !failure_->what().empty()) *failure_reported_ = true;
  failure_->throw_if_set();
}
bool QueuedWork::wait(std::chrono::milliseconds timeout) {
  wait_until_queued(timeout);
  check_failure();
  if (device_.is_cuda()) end_event_.wait(cuda::current_stream(device_));
  return true;
}
void QueuedWork::synchronize() {
  wait_until_queued();
  end_event_.synchronize();
  check_failure();
}
void QueuedWork::record_begin() {
  start_time_ = std::chrono::steady_clock::now();
  flight_recorder_->record_started(call_number_, start_time_);
  if (device_.is_cuda()) begin_event_.record(cuda::current_stream(device_));
}
void QueuedWork::record_end(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  error_ = error;
  if (device_.is_cuda() && !error_) try {
      end_event_.record(cuda::current_stream(device_));
    } catch (...) {
      error_ = std::current_exception();
    }
  const auto end = std::chrono::steady_clock::now();
  seconds_ = std::chrono::duration<double>(end - start_time_).count();
  flight_recorder_->record_done(call_number_, end, error_ != nullptr, begin_event_, end_event_);
  has_returned_ = true;
  changed_.notify_all();
}

}  // namespace tandem::distributed
