// Computes from a trace how each lane (device or rank) spent a training step: in phases, waiting for other lanes, or in
// communication that overlaps computation.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/measure/activity.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Start and end of one step of one rank, in trace time and in CPU time of the rank's thread (0 if unknown).
struct StepTimes {
  double start = 0, end = 0;
  double cpu_start = 0, cpu_end = 0;
  double without_core = 0;  // seconds in which the rank's thread was runnable but had no core
  /// Time at which the backward had computed the gradient of the network's outputs, on this rank's first device; 0 if
  /// it was not recorded, or if the replicas compute the loss. From the start of the backward until then, the backward
  /// computes only the gradients of the loss.
  double outputs_done = 0;
};

/// Returns how each lane spent each of the given steps: a list of lanes for each step. A lane is a rank or, under
/// DataParallel, a device of the only rank. If several phases are open on a lane, time counts for the phase that began
/// last.
///   - Under DataParallel, a device that does nothing waits for the device that is working. If several devices work, it
///     waits for the one that finishes last. If none works, the other devices wait for the first device, and the first
///     device, while it waits for its threads, waits for "threads to wake up".
///   - Under DDP, a rank in a collective waits for the last rank until that rank has called the collective. The rest
///     of the time in which a rank is blocked in the collective is exposed communication. The time in which the
///     collective overlaps other phases is hidden.
///   - While its process is stopped, a lane waits for "the end of a stop". In exposed communication, the other lanes
///     then wait for the lane that is stopped.
///   - Between two phases, a lane waits for "a free core" while its thread is runnable but has no core, which happens
///     if there are more ranks than cores.
/// @param events  events of all ranks; TraceEvent::rank tells the rank
/// @param steps   start and end of the steps of each rank; the same number of steps for each rank
/// @param activities  one for each rank, or one if all ranks belong to one process; empty if they are unknown
std::vector<std::vector<Lane>> break_down_steps(const std::vector<TraceEvent>& events,
                                                const std::vector<std::vector<StepTimes>>& steps,
                                                const std::vector<std::string>& lane_names,
                                                const std::vector<Activity>& activities = {});
/// Returns, for each lane, the mean times over `steps`, a result of break_down_steps().
std::vector<Lane> mean_lanes(const std::vector<std::vector<Lane>>& steps);
/// Calls break_down_steps(), and returns for each lane the mean times over all steps.
std::vector<Lane> compute_time_breakdown(const std::vector<TraceEvent>& events,
                                         const std::vector<std::vector<StepTimes>>& steps,
                                         const std::vector<std::string>& lane_names);
/// Rearranges `steps`, a result of break_down_steps(): for each lane and activity, lists the durations in all steps,
/// rounded to microseconds.
std::vector<LaneSteps> list_lane_steps(const std::vector<std::vector<Lane>>& steps);

}  // namespace tandem::tools::compare
