// Implements CallQueue: posts calls to its serial queues (each is a thread with one stream per GPU), runs the calls
// there, and coalesces collectives.
#include "tandem/parallel/collectives/call_queue.h"

#include <list>

#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/parallel/rethrow.h"

namespace tandem::distributed {
namespace {

/// Records the call in the profiler's trace, if one is being recorded. For CUDA tensors, the trace shows the call as
/// ended once the host has put it on the stream.
void record_trace_event(const QueuedCall& job, double start) {
  Tracer* const tracer = current_tracer();
  if (!tracer) return;
  const CollectiveCall& call = job.call;
  TraceEvent event{.kind = TraceEvent::Kind::communication, .name = call.name};
  if (!call.about.empty()) event.name.append(", ").append(call.about);
  event.device = call.device;
  event.queued = job.enqueue_time, event.start = start, event.end = trace_clock_seconds();
  event.bytes = std::max<int64_t>(call.numel, 0) * element_size(call.dtype);
  tracer->add_event(std::move(event));
}

}  // namespace

const cuda::Stream& CallQueue::SerialQueue::stream(Device device) {
  const auto at = streams_.find(device.index());
  if (at != streams_.end()) return at->second;
  return streams_.emplace(device.index(), cuda::Stream(device, /*high_priority=*/true)).first->second;
}

WorkPtr CallQueue::enqueue_collective(QueuedCall job) {
  const std::lock_guard lock(mutex_);
  job.call.sequence_number = ++last_sequence_number_;
  return enqueue_on(collective_queue_, std::move(job), 0);
}
WorkPtr CallQueue::enqueue_p2p(QueuedCall job, int tag, bool sends) {
  SerialQueue* serial_queue = nullptr;
  {
    const std::lock_guard lock(mutex_);
    serial_queue = &p2p_queues_.try_emplace({job.call.root_or_peer, tag, sends}).first->second;
  }
  return enqueue_on(*serial_queue, std::move(job), tag);
}
void CallQueue::start_coalescing() {
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK(!is_coalescing_, "start_coalescing: coalescing has already started; call end_coalescing first");
  is_coalescing_ = true;
}
void CallQueue::end_coalescing() {
  const std::lock_guard lock(mutex_);
  is_coalescing_ = false;
  if (!coalesced_calls_.empty()) post(collective_queue_, std::exchange(coalesced_calls_, {}));
}

WorkPtr CallQueue::enqueue_on(SerialQueue& serial_queue, QueuedCall job, int tag) {
  check_not_recorded(job.call.name, "other ranks take part in a collective");
  ThreadContext::current().rank_state().num_collectives.fetch_add(1, std::memory_order_relaxed);
  job.work = std::make_shared<QueuedWork>(job.call, communicator_.async_failure(), communicator_.failure_reported(),
                                          flight_recorder_, flight_recorder_->record_queued(job.call, tag));
  if (job.call.device.is_cuda()) job.inputs_ready.record(cuda::current_stream(job.call.device));
  if (current_tracer()) job.enqueue_time = trace_clock_seconds();
  WorkPtr work = job.work;
  std::vector<QueuedCall> jobs;
  jobs.push_back(std::move(job));
  if (&serial_queue == &collective_queue_ && is_coalescing_)
    coalesced_calls_.push_back(std::move(jobs[0]));
  else
    post(serial_queue, std::move(jobs));
  return work;
}
void CallQueue::post(SerialQueue& serial_queue, std::vector<QueuedCall> jobs) {
  // Leaves out the rank's state, which owns this group: if the context owned it, there would be a reference cycle.
  ThreadContext context;
  context.grad_enabled = false;
  context.thread_share = ThreadContext::current().thread_share;
  context.observer = ThreadContext::current().observer;
  context.tracer = ThreadContext::current().tracer;
  serial_queue.post(std::move(context),
                    [this, &serial_queue, jobs = std::move(jobs)]() mutable { run_queued_calls(serial_queue, jobs); });
}
void CallQueue::run_queued_calls(SerialQueue& serial_queue, std::vector<QueuedCall>& jobs) {
  // makes the GPU of the calls' tensors current: otherwise CUDA would create a context on the first GPU, which takes up
  // memory
  std::optional<gpu::DeviceGuard> device;
  std::list<cuda::StreamGuard> guards;
  std::exception_ptr error;
  const QueuedCall* at = &jobs[0];
  const double start = current_tracer() ? trace_clock_seconds() : 0;
  try {
    for (const QueuedCall& job : jobs) {
      if (job.call.device.is_cuda()) {
        if (!device) device.emplace(job.call.device.index());
        const cuda::Stream& stream = serial_queue.stream(job.call.device);
        guards.emplace_back(stream);
        job.inputs_ready.wait(stream);
        for (const Tensor& t : job.tensors) t.record_stream(stream);
      }
      job.work->record_begin();
    }
    if (jobs.size() > 1) communicator_.begin_group();
    for (const QueuedCall& job : jobs) at = &job, job.run_call(job.call, *job.work);
  } catch (...) {
    error = std::current_exception();
  }
  if (jobs.size() > 1) try {
      communicator_.end_group();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  // This rank's data will never reach the other ranks, so fail the group. This has no effect if the group has failed
  // already.
  if (error) {
    const std::string why = detail::exception_message(error);
    communicator_.abort(describe_rank(rank_, at->call.group) + " failed in " + at->call.str() + ": " + why);
    flight_log_->record_failure(
        why);  // write the log of recent calls before the program sees the error, because it may then exit
  }
  for (const QueuedCall& job : jobs) record_trace_event(job, start);
  // Release the tensors before record_end() wakes the waiting threads, which may expect that their memory is free.
  for (QueuedCall& job : jobs) job.tensors.clear(), job.run_call = nullptr;
  for (const QueuedCall& job : jobs) job.work->record_end(error);
  // destroy in reverse order, because each guard restores the stream that was current before it
  while (!guards.empty()) guards.pop_back();
}

}  // namespace tandem::distributed
