// Implements attribute_memory(): attributes each allocated block to its owner or to the phase that allocated it.
#include "tandem/tools/compare/measure/memory_by_cause.h"

#include <unordered_map>

#include "tandem/core/internal.h"

namespace tandem::tools::compare {
namespace {

std::string cause_from_phase(const char* phase) {
  const std::string name = phase ? phase : "";
  if (name == "input" || name == "scatter") return "input";
  if (name == "replicate") return "replicas";
  if (name == "forward" || name == "backward") return "activations";
  if (name == "gather" || name == "loss") return "outputs";
  if (name == "reduce") return "gradients";
  if (name == "optimizer") return "optimizer";
  return "workspace";
}

/// Returns whether an allocation within the step is for gradients of the network's outputs. The backward of the loss
/// makes them before step.outputs_done. DataParallel then scatters them.
bool allocates_gradient_of_outputs(const MemoryEvent& e, const StepTimes& step) {
  const std::string phase = e.phase ? e.phase : "";
  return e.time <= step.outputs_done ? phase == "backward" : step.outputs_done > 0 && phase == "scatter";
}

}  // namespace

Memory attribute_memory(const std::vector<MemoryEvent>& events, Device device, StepTimes step, int64_t before,
                        const std::vector<BlockInUse>& owned_blocks) {
  // Maps the address of each block in use at the step's end to the index of its allocation event.
  std::unordered_map<const void*, size_t> last;
  for (size_t i = 0; i < events.size() && events[i].time <= step.end; ++i) {
    if (!(events[i].device == device)) continue;
    if (events[i].bytes > 0)
      last[events[i].data] = i;
    else
      last.erase(events[i].data);
  }
  // Maps the index of an owned block's allocation event to the block's cause.
  std::unordered_map<size_t, std::string> owner;
  for (const BlockInUse& each : owned_blocks)
    if (const auto at = last.find(each.data); at != last.end()) owner[at->second] = each.cause;

  Memory memory;
  memory.device = device.str();
  std::map<std::string, int64_t> current_bytes{{"input", before}};
  std::unordered_map<const void*, std::string> cause_at;
  const auto total = [&] {
    int64_t sum = 0;
    for (const auto& [cause, bytes] : current_bytes) sum += bytes;
    return sum;
  };
  const auto record_point = [&](double time) {
    memory.seconds.push_back(time - step.start);
    for (const auto& [cause, bytes] : current_bytes) {
      std::vector<int64_t>& points = memory.over_time[cause];
      // A cause that appears for the first time had 0 bytes at all earlier times.
      points.resize(memory.seconds.size() - 1);
      points.push_back(bytes);
    }
    if (const int64_t sum = total(); sum > memory.peak) {
      memory.peak = sum;
      memory.at_peak = current_bytes;
    }
  };
  bool in_step = false;
  for (size_t i = 0; i < events.size(); ++i) {
    const MemoryEvent& e = events[i];
    if (!(e.device == device)) continue;
    if (e.time > step.end) break;
    if (!in_step && e.time >= step.start) {
      in_step = true;
      record_point(step.start);
    }
    if (e.bytes > 0) {
      const auto mine = owner.find(i);
      const bool of_outputs = in_step && allocates_gradient_of_outputs(e, step);
      const std::string cause = mine != owner.end() ? mine->second : of_outputs ? "outputs" : cause_from_phase(e.phase);
      cause_at[e.data] = cause;
      current_bytes[cause] += e.bytes;
    } else {
      const auto at = cause_at.find(e.data);
      current_bytes[at == cause_at.end() ? "input" : at->second] += e.bytes;
      if (at != cause_at.end()) cause_at.erase(at);
    }
    if (in_step) record_point(e.time);
  }
  if (!in_step) record_point(step.start);
  record_point(step.end);
  return memory;
}

}  // namespace tandem::tools::compare
