// Observers, which intercept kernel calls on every device, and the loops that CPU kernels run.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "tandem/core/array_ref.h"
#include "tandem/core/device.h"
#include "tandem/core/loop/loop.h"

namespace tandem {

class Tensor;

/// One call of a kernel. Undefined tensors are left out; a tensor changed in place is in both lists.
struct KernelCall {
  const char* op;
  Device device;
  ArrayRef<const Tensor*> reads, writes;
  void (*invoke)(void*);
  void* closure;
  void run_kernel() const { invoke(closure); }
};

namespace detail {

/// Intercepts kernel calls and groups of loops: only what on_kernel_call() and the other handlers pass on is executed.
/// An observer belongs to the ThreadContext to which it was attached and to copies of that context. Threads with these
/// contexts may call it at the same time.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Called instead of a kernel. If the call of a CPU kernel is passed on, on_run_loops() is called for the kernel's
  /// loops.
  virtual void on_kernel_call(const KernelCall& call) { pass_to_outer(call); }
  /// Called instead of running `loops`, which do not depend on each other and are destroyed after the call.
  virtual void on_run_loops(ArrayRef<Loop> loops) { pass_to_outer(loops); }
  /// Called instead of the function passed to run_update().
  virtual void on_host_update(const std::function<void()>& update) { pass_to_outer(update); }
  /// Called before an operation that a Graph cannot record; may throw.
  virtual void on_unrecordable(const std::string& op, const char* why) { pass_to_outer(op, why); }
  /// Whether this observer, or an outer one, records for a Graph.
  virtual bool is_recording() const { return outer_ && outer_->is_recording(); }
  /// The observer that was current when this one was attached, or null.
  const std::shared_ptr<Observer>& outer() const { return outer_; }

 protected:
  /// Passes the call on to the outer observer; if there is none, executes it.
  void pass_to_outer(const KernelCall& call) const;
  void pass_to_outer(ArrayRef<Loop> loops) const;
  void pass_to_outer(const std::function<void()>& update) const;
  void pass_to_outer(const std::string& op, const char* why) const;

 private:
  friend void attach_observer(std::shared_ptr<Observer> observer);
  std::atomic<bool> attached_{false};
  // the observer to which this one passes calls on; set once, before any thread uses this one
  std::shared_ptr<Observer> outer_;
};

/// Attaches an observer to this thread's ThreadContext. It can pass calls on to the observer that is current now.
/// @throws Error if it was attached before
void attach_observer(std::shared_ptr<Observer> observer);

}  // namespace detail

/// Attaches an observer to this thread's ThreadContext until the guard goes out of scope. Guards nest. Copies of this
/// ThreadContext that were made while it was attached keep it.
class ObserverGuard {
 public:
  explicit ObserverGuard(std::shared_ptr<Observer> observer) { attach_observer(std::move(observer)); }
  ~ObserverGuard();
  ObserverGuard(const ObserverGuard&) = delete;
};

}  // namespace tandem
