// Memory trace: records the blocks that allocators hand out and take back.
#include "tandem/core/trace/memory_trace.h"

#include <exception>
#include <mutex>

#include "tandem/core/trace/tracer.h"

namespace tandem::detail {
namespace {

struct MemoryTrace {
  std::mutex mutex;
  std::vector<MemoryEvent> events;
};
/// Never destroyed: static tensors may free their memory later.
MemoryTrace& memory_trace() {
  static MemoryTrace* const all = new MemoryTrace;
  return *all;
}

}  // namespace

void start_memory_trace() {
  MemoryTrace& all = memory_trace();
  const std::lock_guard lock(all.mutex);
  all.events.clear();
  is_memory_trace_on = true;
}
std::vector<MemoryEvent> take_memory_trace() {
  MemoryTrace& all = memory_trace();
  const std::lock_guard lock(all.mutex);
  is_memory_trace_on = false;
  return std::move(all.events);
}
void trace_memory(Device device, const void* data, int64_t bytes) noexcept {
  MemoryTrace& all = memory_trace();
  const std::lock_guard lock(all.mutex);
  if (!is_memory_trace_on) return;
  try {
    all.events.push_back({trace_clock_seconds(), device, data, bytes, current_phase()});
  } catch (const std::exception&) {  // out of memory: drop the event rather than end the program
  }
}

}  // namespace tandem::detail
