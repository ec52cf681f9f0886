// Computes how busy each GPU in a trace was.
#pragma once
#include <map>

#include "tandem/tools/trace/event.h"

namespace tandem::tools::trace {

/// How a GPU spent the time from its first work to its last, in seconds.
struct GpuUtilization {
  double compute = 0;      // time while at least one kernel ran
  double non_compute = 0;  // time while only copies ran
  double idle = 0;
  double total_time() const { return compute + non_compute + idle; }
};
/// Returns the utilization of each GPU, by the name of the GPU.
std::map<std::string, GpuUtilization> compute_gpu_utilization(const std::vector<Event>& events);

}  // namespace tandem::tools::trace
