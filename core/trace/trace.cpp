// Implements start_trace(), take_trace(), stop_trace() and TraceSpan.
#include "tandem/core/trace/trace.h"

#include "tandem/core/trace/tracer.h"

namespace tandem {

void start_trace(bool kernels) {
  take_trace();
  ThreadContext& context = ThreadContext::current();
  const auto tracer = std::make_shared<Tracer>(kernels, context.tracer);
  if (kernels) attach_observer(tracer);
  context.tracer = tracer;
}

std::vector<TraceEvent> take_trace() {
  ThreadContext& context = ThreadContext::current();
  const std::shared_ptr<Tracer> tracer = context.tracer;
  if (!tracer || is_process_trace(*tracer)) return {};
  context.tracer = tracer->enclosing();
  if (context.observer == tracer) context.observer = std::shared_ptr(tracer->outer());
  return tracer->stop();
}

void stop_trace(const std::string& path) { write_trace(path, take_trace()); }

TraceSpan::TraceSpan(std::string name) : name_(std::move(name)), start_(trace_clock_seconds()) {}
TraceSpan::~TraceSpan() {
  Tracer* const tracer = current_tracer();
  if (!tracer) return;
  TraceEvent event{.kind = TraceEvent::Kind::span, .name = std::move(name_)};
  event.start = start_, event.end = trace_clock_seconds();
  tracer->add_event(std::move(event));
}

}  // namespace tandem
