// Tracer, PhaseSpan, and the clocks of a trace.
#include "tandem/core/trace/tracer.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "tandem/core/tensor.h"

namespace tandem {
namespace {

thread_local const char* current_thread_phase = nullptr;

int thread_number() {
  static std::atomic<int> next{0};
  thread_local const int mine = next++;
  return mine;
}
std::vector<TraceTensor> describe_tensors(ArrayRef<const Tensor*> tensors) {
  std::vector<TraceTensor> out;
  out.reserve(tensors.size());
  for (const Tensor* t : tensors) out.push_back({t->dtype(), t->sizes()});
  return out;
}

}  // namespace

double detail::trace_clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double detail::thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Tracer::on_kernel_call(const KernelCall& call) {
  if (!records_kernels_ || !is_recording_) return pass_to_outer(call);
  TraceEvent event{.kind = TraceEvent::Kind::kernel, .name = call.op};
  event.device = call.device;
  event.reads = describe_tensors(call.reads), event.writes = describe_tensors(call.writes);
  for (const auto& tensors : {call.reads, call.writes})
    for (const Tensor* t : tensors) event.bytes += t->nbytes();
  std::optional<GpuTimer::Span> on_gpu;
  if (call.device.is_cuda()) on_gpu = gpu_timer_.begin_span(call);
  event.start = trace_clock_seconds();
  pass_to_outer(call);
  event.end = trace_clock_seconds();
  if (on_gpu) {
    event.correlation = on_gpu->event.correlation;
    on_gpu->event.lane = ThreadContext::current().lane, on_gpu->event.bytes = event.bytes;
    gpu_timer_.end_span(std::move(*on_gpu));
  }
  append_event(std::move(event));
}
void Tracer::add_event(TraceEvent event) {
  if (enclosing_) enclosing_->add_event(event);
  append_event(std::move(event));
}
void Tracer::append_event(TraceEvent event) {
  event.thread = thread_number();
  event.lane = ThreadContext::current().lane;
  const std::lock_guard lock(mutex_);
  if (!is_recording_) return;
  if (events_.size() < max_events_)
    events_.push_back(std::move(event));
  else
    ++num_dropped_events_;
}
void Tracer::stop_recording() {
  if (is_recording_.exchange(false) && records_kernels_) --num_kernel_traces;
}
std::vector<TraceEvent> Tracer::stop() {
  std::vector<TraceEvent> events;
  {
    const std::lock_guard lock(mutex_);
    stop_recording();
    events = std::move(events_);
  }
  for (TraceEvent& event : gpu_timer_.take_events()) events.push_back(std::move(event));
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.start < b.start; });
  return events;
}

void PhaseSpan::begin(const char* name) {
  tracer_ = ThreadContext::current().tracer;
  name_ = name;
  outer_phase_ = std::exchange(current_thread_phase, name);
  cpu_start_ = thread_cpu_seconds();
  start_ = trace_clock_seconds();
}
void PhaseSpan::end() {
  current_thread_phase = outer_phase_;
  TraceEvent event{.kind = TraceEvent::Kind::phase, .name = name_};
  event.start = start_, event.end = trace_clock_seconds();
  event.cpu_start = cpu_start_, event.cpu_end = thread_cpu_seconds();
  tracer_->add_event(std::move(event));
}
const char* detail::current_phase() { return current_thread_phase; }

}  // namespace tandem
