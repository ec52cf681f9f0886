// Runs loops on the thread pool, or passes them to the observer if there is one.
#pragma once
#include "tandem/core/thread_context.h"
#include "tandem/core/trace/observer.h"

namespace tandem {

/// Runs the loops on the thread pool, bypassing any observer.
void run_loops_unobserved(ArrayRef<Loop> loops);
void run_loops_unobserved(ArrayRef<const Loop*> loops);

/// Runs loops that do not depend on each other as one job, without waiting between them. Ranges may be empty.
inline void run_all(ArrayRef<Loop> loops) {
  if (Observer* const observer = ThreadContext::current().observer.get()) [[unlikely]]
    return observer->on_run_loops(loops);
  run_loops_unobserved(loops);
}
/// Runs `update`, host code that updates memory that kernels read, for example a learning rate or an offset in a random
/// stream. While a Graph records, the update does not become a kernel of the record but runs before each replay.
template <class Update> void run_update(const Update& update) {
  if (Observer* const observer = ThreadContext::current().observer.get()) [[unlikely]]
    return observer->on_host_update(update);
  update();
}

/// Call this before work that a Graph cannot record; `why` is the reason. @throws Error that names `op` while a Graph
/// records
inline void check_not_recorded(const char* op, const char* why) {
  if (Observer* const observer = ThreadContext::current().observer.get()) [[unlikely]]
    observer->on_unrecordable(op, why);
}

/// Whether a Graph is recording. If so, kernels must compute everything, for all elements: the host cannot look at
/// values.
inline bool is_graph_recording() {
  const Observer* const observer = ThreadContext::current().observer.get();
  return observer && observer->is_recording();
}

/// Runs one loop over its whole range.
inline void run(const Loop& loop) { run_all(loop); }

}  // namespace tandem
