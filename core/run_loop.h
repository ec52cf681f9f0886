// Running Loops: split over the pool, or handed to an observer that records them.
#pragma once
#include <atomic>
#include <vector>

#include "tandem/core/array_ref.h"
#include "tandem/core/loop.h"

namespace tandem {

/// Sees every loop before it runs (a later capture records them). Null: nobody looks.
using LoopObserver = void (*)(const Loop&);
void set_loop_observer(LoopObserver observer);

/// Runs a loop over its whole range. Empty ranges are fine.
void run(const Loop& loop);
/// Runs loops that do not depend on each other as one parallel job.
void run_all(ArrayRef<Loop> loops);

}  // namespace tandem
