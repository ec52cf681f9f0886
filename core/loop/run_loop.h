// Running Loops: split over the pool, unless an observer takes them.
#pragma once
#include "tandem/core/rank_context.h"
#include "tandem/core/trace/observer.h"

namespace tandem {

/// Splits the loops over the pool, whoever observes.
void run_unobserved(ArrayRef<Loop> loops);
void run_unobserved(ArrayRef<const Loop*> loops);

/// Runs loops that do not depend on each other as one job: nothing waits between them. Empty ranges are fine.
inline void run_all(ArrayRef<Loop> loops) {
  if (Observer* const observer = RankContext::current().observer.get()) [[unlikely]]
    return observer->on_run(loops);
  run_unobserved(loops);
}
/// Runs `update`, host code that brings memory up to date which kernels read: a learning rate, the place in a random
/// stream. Where a step is recorded, the update is not part of the record but runs before each replay.
template <class Update> void run_update(const Update& update) {
  if (Observer* const observer = RankContext::current().observer.get()) [[unlikely]]
    return observer->on_update(update);
  update();
}

/// Said first by what a record could not repeat, with the reason. @throws Error that names `op` where one is being made
inline void check_not_recorded(const char* op, const char* why) {
  if (Observer* const observer = RankContext::current().observer.get()) [[unlikely]]
    observer->on_unrecordable(op, why);
}

/// Whether a record is being made: what depends on values must be computed for all of them then, by kernels alone.
inline bool is_recorded() {
  const Observer* const observer = RankContext::current().observer.get();
  return observer && observer->records();
}

/// Runs one loop over its whole range.
inline void run(const Loop& loop) { run_all(loop); }

}  // namespace tandem
