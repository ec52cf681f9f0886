// What each lane did with its step: the phases, the waiting and for whom, and the communication beside them, from the
// events of a trace.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// One step of one rank: from when to when, by the trace's clock, and by the processor time of the rank's thread (0:
/// not known).
struct StepTimes {
  double start = 0, end = 0;
  double cpu_start = 0, cpu_end = 0;
};

/// Partitions the lanes of a step, or of each of several steps, of which the result is the mean. A lane is a rank, or
/// under DataParallel a device of the one rank. At a moment the phase counts that began last among those which are open
/// on the lane. A lane waits
///   - where it says so, or where a lane of DataParallel's other devices has nothing to do: for the lane that works at
///     that moment, and of several for the one that is done last;
///   - in a collective, until the last rank has come to it: for that rank.
/// Where a lane waits and none works, threads are being woken up: the lane waits for "threads to wake up". Between two
/// phases it waits for "a free core" as long as its thread had none, which happens where there are more ranks than
/// cores. What is left of the time in which a lane waits for a collective is exposed communication; what a collective
/// takes beside other phases is hidden.
/// @param events  of all ranks, each with its rank
/// @param steps   of each rank, as many for each
std::vector<Lane> anatomy(const std::vector<TraceEvent>& events, const std::vector<std::vector<StepTimes>>& steps,
                          const std::vector<std::string>& lane_names);

}  // namespace tandem::tools::compare
