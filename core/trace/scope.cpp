// Implements OpSpan.
#include "tandem/core/trace/scope.h"

#include "tandem/core/trace/tracer.h"

namespace tandem::detail {

struct OpSpan::Open {
  std::shared_ptr<Tracer> tracer;
  TraceEvent event{.kind = TraceEvent::Kind::op, .name = {}};
  ModuleFrame frame;  // for a node of backward: modules that its backward calls, and nodes that it records, belong here
};

void OpSpan::begin(std::string name, const std::string* module) {
  std::shared_ptr<Tracer> tracer = ThreadContext::current().tracer;
  if (!tracer) return;
  open_ = new Open{.tracer = std::move(tracer), .frame = {nullptr, module ? *module : "", current_module_frame}};
  if (module) {
    open_->event.module = *module;
    current_module_frame = &open_->frame;
  }
  open_->event.name = std::move(name);
  open_->event.start = trace_clock();
}
void OpSpan::end() {
  open_->event.end = trace_clock();
  if (current_module_frame == &open_->frame) current_module_frame = open_->frame.outer;
  open_->tracer->add(std::move(open_->event));
  delete open_;
}

}  // namespace tandem::detail
