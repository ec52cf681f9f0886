// Observers see what runs: the kernel calls of ops on every device, and the Loops that a CPU kernel consists of.
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

/// One call of a kernel. Tensors that are undefined are left out; what is changed in place is in both lists.
struct KernelCall {
  const char* op;
  Device device;
  ArrayRef<const Tensor*> reads, writes;
  void (*invoke)(void*);
  void* closure;
  void run() const { invoke(closure); }
};

namespace detail {

/// Wraps each call and each group of loops: what it does not pass on does not happen. It belongs to the RankContext
/// that it was attached to and to those that were copied from that, and is called by all their threads, several at
/// once.
class Observer {
 public:
  virtual ~Observer() = default;
  /// In place of running a kernel's call; a CPU kernel's comes before those of its loops.
  virtual void on_call(const KernelCall& call) { pass(call); }
  /// In place of running `loops`, which do not depend on each other and are gone afterwards.
  virtual void on_run(ArrayRef<Loop> loops) { pass(loops); }
  /// In place of running what run_update() was given.
  virtual void on_update(const std::function<void()>& update) { pass(update); }
  /// Before something that a record could not repeat; it may throw.
  virtual void on_unrecordable(const std::string& op, const char* why) { pass(op, why); }
  /// Whether this one, or one that it was put in front of, makes a record.
  virtual bool records() const { return outer_ && outer_->records(); }
  /// The one that it was put in front of, or null.
  const std::shared_ptr<Observer>& outer() const { return outer_; }

 protected:
  /// To the observer that was there before this one, if there was one, and else runs it.
  void pass(const KernelCall& call) const;
  void pass(ArrayRef<Loop> loops) const;
  void pass(const std::function<void()>& update) const;
  void pass(const std::string& op, const char* why) const;

 private:
  friend void attach_observer(std::shared_ptr<Observer> observer);
  std::atomic<bool> attached_{false};
  std::shared_ptr<Observer> outer_;  // set once, before any thread sees this observer
};

/// Puts an observer in front of the one that this thread's context has. @throws Error when it was attached before
void attach_observer(std::shared_ptr<Observer> observer);

}  // namespace detail

/// Attaches an observer until it goes out of scope. Guards nest. Contexts that were copied in the meantime keep it.
class ObserverGuard {
 public:
  explicit ObserverGuard(std::shared_ptr<Observer> observer) { attach_observer(std::move(observer)); }
  ~ObserverGuard();
  ObserverGuard(const ObserverGuard&) = delete;
};

}  // namespace tandem
