// Computes from a trace how each lane (device or rank) spent a training step: in phases, waiting for other lanes, or in
// communication that overlaps computation.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Start and end of one step of one rank, in trace time and in CPU time of the rank's thread (0 if unknown).
struct StepTimes {
  double start = 0, end = 0;
  double cpu_start = 0, cpu_end = 0;
};

/// Returns how each lane spent a step, as the mean over the given steps. A lane is a rank or, under DataParallel, a
/// device of the only rank. If several phases are open on a lane, time counts for the phase that began last.
///   - Under DataParallel, a device that does nothing waits for the device that is working. If several devices work, it
///     waits for the one that finishes last. If none works, the other devices wait for the first device, and the first
///     device, while it waits for its threads, waits for "threads to wake up".
///   - Under DDP, a rank in a collective waits for the last rank until that rank has entered the collective. The rest
///     of the time in which a rank is blocked in the collective is exposed communication. The time in which the
///     collective overlaps other phases is hidden.
///   - Between two phases, a lane waits for "a free core" while its thread is runnable but has no core, which happens
///     if there are more ranks than cores.
/// @param events  events of all ranks; TraceEvent::rank tells the rank
/// @param steps   start and end of the steps of each rank; the same number of steps for each rank
std::vector<Lane> compute_time_breakdown(const std::vector<TraceEvent>& events,
                                         const std::vector<std::vector<StepTimes>>& steps,
                                         const std::vector<std::string>& lane_names);

}  // namespace tandem::tools::compare
