// Memory trace: records every block that the devices' allocators hand out and take back, to show what a device's memory
// is used for. Internal.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "tandem/core/device.h"

namespace tandem::detail {

struct MemoryEvent {
  double time;  // time of std::chrono::steady_clock, in seconds
  Device device;
  const void* data;   // start of the block
  int64_t bytes;      // requested size of the block; minus that size if the block was freed
  const char* phase;  // name of the thread's current phase (tracer.h); null without a trace
};

inline constinit std::atomic<bool> is_memory_trace_on{false};
inline bool is_memory_trace_enabled() { return is_memory_trace_on.load(std::memory_order_relaxed); }

/// Starts to record the memory of all devices, for the whole process. Drops an earlier record.
void start_memory_trace();
/// Stops recording and returns the events; the events of a device are in the order in which its allocator recorded
/// them.
std::vector<MemoryEvent> take_memory_trace();
/// Records an event; called by allocators while is_memory_trace_enabled(). If memory runs out, the event is dropped.
void trace_memory(Device device, const void* data, int64_t bytes) noexcept;

}  // namespace tandem::detail
