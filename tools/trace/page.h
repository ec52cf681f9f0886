// The page of `tandem trace --report`.
#pragma once
#include "tandem/tools/trace/gpu_utilization.h"
#include "tandem/tools/trace/tables.h"

namespace tandem::tools::trace {

struct Report {
  std::string command;  // the command line of the traced program
  const CallTree& tree;
  std::map<std::string, GpuUtilization> gpus;
  int64_t num_dropped = 0;  // number of events that tracing dropped
};
/// Returns an HTML page without scripts and requests: a flame graph and the tables.
std::string render_html(const Report& report);
/// Describes what a GPU did between its first and its last work.
std::string describe_gpu(const std::string& device, const GpuUtilization& utilization);
/// Returns a sentence about events that are not in the trace; "" if there are none.
std::string describe_dropped(int64_t num_dropped);

}  // namespace tandem::tools::trace
