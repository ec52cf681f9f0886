// Implements OpSpan.
#include "tandem/core/trace/op_span.h"

#include "tandem/core/trace/tracer.h"

namespace tandem::detail {

struct OpSpan::OpenSpan {
  std::shared_ptr<Tracer> tracer;
  TraceEvent event{.kind = TraceEvent::Kind::op, .name = {}};
  // for a node of backward: frame of the module whose forward recorded the node; current while the node runs
  ModuleFrame frame;
};

void OpSpan::begin(std::string name, const std::string* module) {
  std::shared_ptr<Tracer> tracer = ThreadContext::current().tracer;
  if (!tracer) return;
  open_span_ =
      new OpenSpan{.tracer = std::move(tracer), .frame = {nullptr, module ? *module : "", current_module_frame}};
  if (module) {
    open_span_->event.module = *module;
    current_module_frame = &open_span_->frame;
  }
  open_span_->event.name = std::move(name);
  open_span_->event.start = trace_clock_seconds();
}
void OpSpan::end() {
  open_span_->event.end = trace_clock_seconds();
  if (current_module_frame == &open_span_->frame) current_module_frame = open_span_->frame.caller;
  open_span_->tracer->add_event(std::move(open_span_->event));
  delete open_span_;
}

}  // namespace tandem::detail
