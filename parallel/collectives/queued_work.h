// QueuedWork: the Work of a collective that another thread runs. Internal.
#pragma once
#include <condition_variable>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/collectives/flight_recorder.h"

namespace tandem::distributed {

/// Work of one call. The thread that runs the call invokes record_begin() before and record_end() after it. Between
/// these, for CUDA tensors, the operation is put on the device's current stream.
class QueuedWork final : public Work {
 public:
  /// @param failure  failures of operations on the GPU after their calls have returned; null if the backend has none
  /// @param failure_reported  value of Communicator::failure_reported()
  /// @param record   flight record, in which this call has the number `number`
  QueuedWork(CollectiveCall call, std::shared_ptr<const FirstFailure> failure,
             std::shared_ptr<std::atomic<bool>> failure_reported, std::shared_ptr<FlightRecorder> record,
             int64_t number)
      : call_(std::move(call)),
        device_(call_.device),
        failure_(std::move(failure)),
        failure_reported_(std::move(failure_reported)),
        flight_recorder_(std::move(record)),
        call_number_(number) {}

  bool is_completed() const override {
    const std::lock_guard lock(mutex_);
    return has_returned_ && (error_ || end_event_.query());
  }
  std::exception_ptr exception() const override;
  int source_rank() const override { return source_rank_; }
  double elapsed_seconds() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;

  void record_begin();
  void record_end(const std::exception_ptr& error);
  void set_source(int rank) { source_rank_ = rank; }
  const CollectiveCall& call() const { return call_; }

 private:
  void wait_until_queued(std::chrono::milliseconds timeout = kNoTimeout);
  void check_failure();

  const CollectiveCall call_;
  const Device device_;
  const std::shared_ptr<const FirstFailure> failure_;
  const std::shared_ptr<std::atomic<bool>> failure_reported_;
  const std::shared_ptr<FlightRecorder> flight_recorder_;
  const int64_t call_number_;
  std::atomic<int> source_rank_{-1};
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool has_returned_ = false;  // the call has returned: a CPU operation is complete, a CUDA operation is on the stream
  double seconds_ = 0;
  std::chrono::steady_clock::time_point start_time_;
  std::exception_ptr error_;
  // for CUDA tensors: beginning and end of the operation on the stream
  cuda::Event begin_event_{/*enable_timing=*/true}, end_event_{/*enable_timing=*/true};
};

}  // namespace tandem::distributed
