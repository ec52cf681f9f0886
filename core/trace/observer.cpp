// Attaches and detaches observers, and passes calls on to the outer observer.
#include "tandem/core/trace/observer.h"

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"

namespace tandem {

void Observer::pass_to_outer(const KernelCall& call) const {
  if (outer_)
    outer_->on_kernel_call(call);
  else
    call.run_kernel();
}
void Observer::pass_to_outer(ArrayRef<Loop> loops) const {
  if (outer_)
    outer_->on_run_loops(loops);
  else
    run_loops_unobserved(loops);
}

void Observer::pass_to_outer(const std::function<void()>& update) const {
  if (outer_)
    outer_->on_host_update(update);
  else
    update();
}

void Observer::pass_to_outer(const std::string& op, const char* why) const {
  if (outer_) outer_->on_unrecordable(op, why);
}

void detail::attach_observer(std::shared_ptr<Observer> observer) {
  TANDEM_CHECK(observer && !observer->attached_.exchange(true),
               "attach_observer: the observer is null or was attached before; accepted: a new one");
  observer->outer_ = ThreadContext::current().observer;
  ThreadContext::current().observer = std::move(observer);
}
ObserverGuard::~ObserverGuard() { ThreadContext::current().observer = ThreadContext::current().observer->outer(); }

namespace detail {

void dispatch_to_observer(const char* op, Device device, const CallTensors& tensors, void (*invoke)(void*),
                          void* closure) {
  ThreadContext::current().observer->on_kernel_call({op, device, tensors.reads, tensors.writes, invoke, closure});
}
void throw_built_without_cuda(const char* op) {
  TANDEM_FAIL(
      op,
      ": the tensors are on a CUDA device, but this build was not compiled with CUDA enabled; accepted: CPU tensors");
}

}  // namespace detail
}  // namespace tandem
