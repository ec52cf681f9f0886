// Runs a communicator's blocking calls in order on a thread and, of CUDA tensors, a stream of its own, so that they
// overlap with the caller. Internal.
#pragma once
#include <map>

#include "tandem/parallel/collectives/queued_work.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::distributed {

/// A call on its way to the communicator.
struct Job {
  Call call;
  std::vector<Tensor> tensors;  // that it touches
  std::function<void(const Call&, QueuedWork&)> run;
  std::shared_ptr<QueuedWork> work = nullptr;
  cuda::Event ready = cuda::Event();  // of CUDA tensors: what the caller's stream held at the call
  double called = 0;                  // by trace_clock(), while there is a trace
};

class CallQueue {
 public:
  /// @param flight  hears of failures; `record`, a part of it, of all calls
  CallQueue(Communicator& communicator, int rank, std::shared_ptr<FlightLog> flight,
            std::shared_ptr<FlightRecorder> record)
      : communicator_(communicator), rank_(rank), flight_(std::move(flight)), record_(std::move(record)) {}

  /// A collective whose arguments are accepted: one that was refused leaves this rank in step with the others.
  WorkPtr collective(Job job);
  /// A send or receive: those with one peer (-1: a receive from any), tag and direction go in order.
  WorkPtr transfer(Job job, int tag, bool sends);
  void start_coalescing();
  void end_coalescing();
  bool coalescing() {
    const std::lock_guard lock(mutex_);
    return coalescing_;
  }

 private:
  /// Where calls go that must not overtake each other: a thread, and a stream of every GPU that it is used with.
  class Lane {
   public:
    void post(detail::RankContext context, std::function<void()> job) {
      thread_.post(std::move(context), std::move(job));
    }
    /// For the thread's own use.
    const cuda::Stream& stream(Device device);

   private:
    std::map<int, cuda::Stream> streams_;
    detail::WorkerThread thread_;  // last: its jobs use the streams
  };
  WorkPtr start_on(Lane& lane, Job job, int tag);
  void post(Lane& lane, std::vector<Job> jobs);
  void serve(Lane& lane, std::vector<Job>& jobs);  // leaves no tensor in them

  Communicator& communicator_;
  const int rank_;
  const std::shared_ptr<FlightLog> flight_;
  const std::shared_ptr<FlightRecorder> record_;
  std::mutex mutex_;  // guards what follows, and the order of collectives
  int64_t sequence_ = 0;
  bool coalescing_ = false;
  std::vector<Job> held_;                                 // by start_coalescing
  std::map<std::tuple<int, int, bool>, Lane> transfers_;  // by peer, tag, direction
  Lane lane_;
};

}  // namespace tandem::distributed
