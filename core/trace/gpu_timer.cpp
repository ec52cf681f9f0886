// GpuTimer: measures when a GPU works on each kernel call.
#include "tandem/core/trace/gpu_timer.h"

#include "tandem/core/tensor.h"
#include "tandem/core/trace/tracer.h"

namespace tandem::detail {
/// Name of a GPU event. Copies get the names that CUDA's profilers use, so that tools recognise them as copies.
static std::string gpu_event_name(const KernelCall& call) {
  if (call.reads.empty() || call.writes.empty()) return call.op;
  const Device from = call.reads[0]->device(), to = call.writes[0]->device();
  if (from == to) return call.op;
  return from.is_cpu() ? "Memcpy HtoD" : to.is_cpu() ? "Memcpy DtoH" : "Memcpy PtoP";
}

std::optional<GpuTimer::Span> GpuTimer::begin_span(const KernelCall& call) {
  if (cuda::is_current_stream_capturing()) return {};
  const cuda::Stream& stream = cuda::current_stream(call.device);
  Span span;
  {
    const std::lock_guard lock(mutex_);
    ClockAnchor& anchor = anchors_[call.device];
    if (anchor.host_seconds == 0) {
      stream.synchronize();
      anchor.event.record(stream);
      anchor.event.synchronize();
      anchor.host_seconds = trace_clock_seconds();
    }
    span.event.stream =
        stream_numbers_.try_emplace({call.device, stream.handle()}, static_cast<int>(stream_numbers_.size()) + 1)
            .first->second;
    span.event.correlation = ++num_calls_;
    constexpr size_t kMaxSpans = 4096;  // limits the number of CUDA events in use
    if (spans_.size() >= kMaxSpans) collect_events();
  }
  span.event.kind = TraceEvent::Kind::gpu;
  span.event.name = gpu_event_name(call);
  span.event.device = call.device;
  span.begin.record(stream);
  return span;
}

void GpuTimer::end_span(Span span) {
  span.end.record(cuda::current_stream(span.event.device));
  const std::lock_guard lock(mutex_);
  spans_.push_back(std::move(span));
}

void GpuTimer::collect_events() {
  for (Span& span : spans_) try {
      span.end.synchronize();
      const ClockAnchor& anchor = anchors_.at(span.event.device);
      constexpr double kMillisecond = 1e-3;
      span.event.start = anchor.host_seconds + kMillisecond * anchor.event.elapsed_time(span.begin);
      span.event.end = span.event.start + kMillisecond * span.begin.elapsed_time(span.end);
      events_.push_back(std::move(span.event));
    } catch (const std::exception&) {  // if the GPU failed, keeps the rest of the trace
    }
  spans_.clear();
}
std::vector<TraceEvent> GpuTimer::take_events() {
  const std::lock_guard lock(mutex_);
  collect_events();
  return std::move(events_);
}

}  // namespace tandem::detail
