// Running Loops: split over the pool, unless an observer takes them.
#pragma once
#include "tandem/core/observer.h"
#include "tandem/core/rank_context.h"

namespace tandem {

/// The memory that the part which this thread runs has for itself: the loop's `scratch` bytes, aligned to 64.
char* loop_scratch();

/// Splits the loops over the pool, whoever observes.
void run_unobserved(ArrayRef<Loop> loops);

/// Runs loops that do not depend on each other as one job: nothing waits between them. Empty ranges are fine.
inline void run_all(ArrayRef<Loop> loops) {
  if (Observer* const observer = RankContext::current().observer.get()) [[unlikely]]
    return observer->on_run(loops);
  run_unobserved(loops);
}
/// Runs one loop over its whole range.
inline void run(const Loop& loop) { run_all(loop); }

}  // namespace tandem
