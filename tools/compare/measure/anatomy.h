// Computes from a trace how each lane spent a step: phases, waiting and for whom, and overlapped communication.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Start and end of one step of one rank, by the trace's clock and by the CPU time of the rank's thread (0: unknown).
struct StepTimes {
  double start = 0, end = 0;
  double cpu_start = 0, cpu_end = 0;
};

/// Partitions the time of each lane of a step; with several steps, returns the mean over the steps. A lane is a rank
/// or, under DataParallel, a device of the only rank. If several phases are open on a lane, the one that began last
/// counts. A lane waits
///   - in a phase "wait" or, under DataParallel, whenever it does nothing: for the lane that works meanwhile, or for
///     the one that finishes last if several work;
///   - in a collective, until the last rank has entered it: for that rank.
/// If no device of DataParallel works, threads are being woken up: the first device waits for "threads to wake up", and
/// the others wait for the first device. Between two phases a lane waits for "a free core" while its thread has none,
/// which happens if there are more ranks than cores. The rest of the time in which a lane waits for a collective is
/// exposed communication. The part of a collective that overlaps other phases is hidden.
/// @param events  of all ranks, each with its rank
/// @param steps   of each rank, the same number for each
std::vector<Lane> anatomy(const std::vector<TraceEvent>& events, const std::vector<std::vector<StepTimes>>& steps,
                          const std::vector<std::string>& lane_names);

}  // namespace tandem::tools::compare
