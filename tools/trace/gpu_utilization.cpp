// Implements compute_gpu_utilization.
#include "tandem/tools/trace/gpu_utilization.h"

#include <algorithm>

namespace tandem::tools::trace {

std::map<std::string, GpuUtilization> compute_gpu_utilization(const std::vector<Event>& events) {
  std::map<std::string, std::vector<const Event*>> by_device;
  for (const Event& event : events)
    if (event.stream > 0) by_device[event.device].push_back(&event);
  std::map<std::string, GpuUtilization> all;
  for (auto& [device, works] : by_device) {
    std::sort(works.begin(), works.end(), [](const Event* a, const Event* b) { return a->start < b->start; });
    int64_t any_until = works[0]->start, compute_until = works[0]->start, any = 0, compute = 0;
    for (const Event* const work : works) {
      any += std::max<int64_t>(0, work->end - std::max(work->start, any_until));
      any_until = std::max(any_until, work->end);
      if (work->category != "kernel") continue;
      compute += std::max<int64_t>(0, work->end - std::max(work->start, compute_until));
      compute_until = std::max(compute_until, work->end);
    }
    constexpr double kNanosecond = 1e-9;
    all[device] = {.compute = kNanosecond * static_cast<double>(compute),
                   .non_compute = kNanosecond * static_cast<double>(any - compute),
                   .idle = kNanosecond * static_cast<double>(any_until - works[0]->start - any)};
  }
  return all;
}

}  // namespace tandem::tools::trace
