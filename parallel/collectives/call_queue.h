// CallQueue: runs a communicator's blocking calls in order on a thread and, for CUDA tensors, on a stream of its own,
// so that they overlap with the caller. Internal.
#pragma once
#include <map>

#include "tandem/parallel/collectives/queued_work.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::distributed {

/// A queued call: what to run, and the tensors to run it on.
struct Job {
  Call call;
  std::vector<Tensor> tensors;  // tensors that the call uses
  std::function<void(const Call&, QueuedWork&)> run_call;
  std::shared_ptr<QueuedWork> work = nullptr;
  // for CUDA tensors: event after the work that the caller's stream held at the time of the call
  cuda::Event inputs_ready = cuda::Event();
  double enqueue_time = 0;  // time of the call by trace_clock(); 0 if no trace is being recorded
};

class CallQueue {
 public:
  /// @param flight  log of this rank's calls, to which failures are reported
  /// @param record  part of `flight` for this group, which records every call
  CallQueue(Communicator& communicator, int rank, std::shared_ptr<FlightLog> flight,
            std::shared_ptr<FlightRecorder> record)
      : communicator_(communicator), rank_(rank), flight_(std::move(flight)), recorder_(std::move(record)) {}

  /// Queues a collective. The caller must have checked the arguments: a rejected call must not take a sequence number,
  /// because this rank would then no longer match the others.
  WorkPtr enqueue_collective(Job job);
  /// Queues a send or receive. Calls with the same peer, tag and direction run in order. The peer of a receive from any
  /// rank is -1.
  WorkPtr enqueue_p2p(Job job, int tag, bool sends);
  void start_coalescing();
  void end_coalescing();
  bool coalescing() {
    const std::lock_guard lock(mutex_);
    return coalescing_;
  }

 private:
  /// Queue of calls that run in order, on a thread of the lane and on one stream of the lane for each GPU.
  class Lane {
   public:
    void post(detail::ThreadContext context, std::function<void()> job) {
      thread_.post(std::move(context), std::move(job));
    }
    /// Returns the lane's stream on a GPU. Only the lane's thread may call this.
    const cuda::Stream& stream(Device device);

   private:
    std::map<int, cuda::Stream> streams_;
    detail::WorkerThread thread_;  // last member: destroyed first, because its jobs use streams_
  };
  WorkPtr enqueue_on(Lane& lane, Job job, int tag);
  void post(Lane& lane, std::vector<Job> jobs);
  void run_jobs(Lane& lane, std::vector<Job>& jobs);  // also releases the tensors of the jobs

  Communicator& communicator_;
  const int rank_;
  const std::shared_ptr<FlightLog> flight_;
  const std::shared_ptr<FlightRecorder> recorder_;
  std::mutex mutex_;  // guards the members below, and the order in which collectives are posted
  int64_t sequence_ = 0;
  bool coalescing_ = false;
  std::vector<Job> coalesced_;  // collectives called since start_coalescing()
  // lanes for sends and receives: one for each peer, tag and direction
  std::map<std::tuple<int, int, bool>, Lane> transfers_;
  Lane lane_;
};

}  // namespace tandem::distributed
