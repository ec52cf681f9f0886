// CallQueue: runs a communicator's blocking calls in order on a thread and, for CUDA tensors, on a stream of its own,
// so that they overlap with the caller. Internal.
#pragma once
#include <map>

#include "tandem/parallel/collectives/queued_work.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::distributed {

/// A queued call: what to run, and the tensors to run it on.
struct QueuedCall {
  CollectiveCall call;
  std::vector<Tensor> tensors;  // tensors that the call uses
  std::function<void(const CollectiveCall&, QueuedWork&)> run_call;
  std::shared_ptr<QueuedWork> work = nullptr;
  // for CUDA tensors: event after the work that the caller's stream held at the time of the call
  cuda::Event inputs_ready = cuda::Event();
  double enqueue_time = 0;  // time of the call by trace_clock_seconds(); 0 if no trace is being recorded
};

class CallQueue {
 public:
  /// @param flight  log of the calls of all of this rank's groups; written to a file after a failure
  /// @param record  part of `flight` that records the calls of this group
  CallQueue(Communicator& communicator, int rank, std::shared_ptr<FlightLog> flight,
            std::shared_ptr<FlightRecorder> record)
      : communicator_(communicator), rank_(rank), flight_log_(std::move(flight)), flight_recorder_(std::move(record)) {}

  /// Queues a collective. The caller must have checked the arguments: a rejected call must not take a sequence number,
  /// because this rank would then no longer match the others.
  WorkPtr enqueue_collective(QueuedCall job);
  /// Queues a send or receive. Calls with the same peer, tag and direction run in order. The peer of a receive from any
  /// rank is -1.
  WorkPtr enqueue_p2p(QueuedCall job, int tag, bool sends);
  void start_coalescing();
  void end_coalescing();
  bool is_coalescing() {
    const std::lock_guard lock(mutex_);
    return is_coalescing_;
  }

 private:
  /// Queue of calls that run in order, on a thread of the queue's own and, for CUDA tensors, on the queue's own stream
  /// of the GPU.
  class SerialQueue {
   public:
    void post(detail::ThreadContext context, std::function<void()> job) {
      thread_.post(std::move(context), std::move(job));
    }
    /// Returns the queue's stream on a GPU. Only the queue's thread may call this.
    const cuda::Stream& stream(Device device);

   private:
    std::map<int, cuda::Stream> streams_;
    detail::WorkerThread thread_;  // last member: destroyed first, because its jobs use streams_
  };
  WorkPtr enqueue_on(SerialQueue& serial_queue, QueuedCall job, int tag);
  void post(SerialQueue& serial_queue, std::vector<QueuedCall> jobs);
  void run_queued_calls(SerialQueue& serial_queue,
                        std::vector<QueuedCall>& jobs);  // runs the calls in order, then releases their tensors

  Communicator& communicator_;
  const int rank_;
  const std::shared_ptr<FlightLog> flight_log_;
  const std::shared_ptr<FlightRecorder> flight_recorder_;
  std::mutex mutex_;  // guards the members below, and the order in which collectives are posted
  int64_t last_sequence_number_ = 0;
  bool is_coalescing_ = false;
  std::vector<QueuedCall> coalesced_calls_;  // collectives called since start_coalescing()
  // queues of sends and receives: one for each peer, tag and direction
  std::map<std::tuple<int, int, bool>, SerialQueue> p2p_queues_;
  SerialQueue collective_queue_;
};

}  // namespace tandem::distributed
