// Running Loops: split over the pool, unless an observer takes them.
#pragma once
#include <atomic>

#include "tandem/core/array_ref.h"
#include "tandem/core/loop.h"

namespace tandem {

/// Stands in the door that every loop goes through, to record loops, to time them, or both.
class LoopObserver {
 public:
  /// Called in place of running `loops`, which are independent of each other and gone afterwards; run_unobserved(loops)
  /// runs them. Comes from every thread that runs loops, several at once.
  virtual void on_run(ArrayRef<Loop> loops) = 0;

 protected:
  ~LoopObserver() = default;
};

/// Makes `observer` the one that sees every loop, or none when null; returns the one before. It must outlive every run
/// that began before it was taken away.
LoopObserver* set_loop_observer(LoopObserver* observer);

/// Splits the loops over the pool, whoever observes.
void run_unobserved(ArrayRef<Loop> loops);

namespace detail {
inline std::atomic<LoopObserver*> loop_observer{nullptr};
[[gnu::cold]] void run_observed(ArrayRef<Loop> loops);
}  // namespace detail

/// Runs loops that do not depend on each other as one job: nothing waits between them. Empty ranges are fine.
inline void run_all(ArrayRef<Loop> loops) {
  if (detail::loop_observer.load(std::memory_order_relaxed)) [[unlikely]]
    return detail::run_observed(loops);
  run_unobserved(loops);
}
/// Runs one loop over its whole range.
inline void run(const Loop& loop) { run_all(loop); }

}  // namespace tandem
