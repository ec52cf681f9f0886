// CallQueue: runs a communicator's blocking calls in order on a thread and, for CUDA tensors, on a stream of its own,
// so that they overlap with the caller. Internal.
#pragma once
#include <map>

#include "tandem/parallel/collectives/queued_work.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::distributed {

/// A call waiting for the communicator.
struct Job {
  Call call;
  std::vector<Tensor> tensors;  // tensors that the call uses
  std::function<void(const Call&, QueuedWork&)> run;
  std::shared_ptr<QueuedWork> work = nullptr;
  cuda::Event ready = cuda::Event();  // CUDA tensors: end of the work on the caller's stream
  double called = 0;                  // time of the call by trace_clock(), if a trace is on
};

class CallQueue {
 public:
  /// @param flight  is told of failures
  /// @param record  a part of `flight`; is told of all calls
  CallQueue(Communicator& communicator, int rank, std::shared_ptr<FlightLog> flight,
            std::shared_ptr<FlightRecorder> record)
      : communicator_(communicator), rank_(rank), flight_(std::move(flight)), record_(std::move(record)) {}

  /// Queues a collective. The arguments have been checked before: a refused call must not take a sequence number, so
  /// that this rank stays in step with the others.
  WorkPtr collective(Job job);
  /// Queues a send or receive. Calls with equal peer (-1: a receive from any rank), tag and direction run in order.
  WorkPtr transfer(Job job, int tag, bool sends);
  void start_coalescing();
  void end_coalescing();
  bool coalescing() {
    const std::lock_guard lock(mutex_);
    return coalescing_;
  }

 private:
  /// Calls that must run in order: a thread, and one stream for every GPU that is used with it.
  class Lane {
   public:
    void post(detail::RankContext context, std::function<void()> job) {
      thread_.post(std::move(context), std::move(job));
    }
    /// Returns the stream for a GPU. Only for use by the lane's thread.
    const cuda::Stream& stream(Device device);

   private:
    std::map<int, cuda::Stream> streams_;
    detail::WorkerThread thread_;  // last: its jobs use the streams
  };
  WorkPtr start_on(Lane& lane, Job job, int tag);
  void post(Lane& lane, std::vector<Job> jobs);
  void serve(Lane& lane, std::vector<Job>& jobs);  // releases the tensors of the jobs

  Communicator& communicator_;
  const int rank_;
  const std::shared_ptr<FlightLog> flight_;
  const std::shared_ptr<FlightRecorder> record_;
  std::mutex mutex_;  // guards the members below, and the order of collectives
  int64_t sequence_ = 0;
  bool coalescing_ = false;
  std::vector<Job> held_;                                 // calls since start_coalescing
  std::map<std::tuple<int, int, bool>, Lane> transfers_;  // by peer, tag, direction
  Lane lane_;
};

}  // namespace tandem::distributed
