// A record of every block of memory that the devices' allocators give out and take back, for the question what a
// device's memory is used for. Internal.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "tandem/core/device.h"

namespace tandem::detail {

struct MemoryEvent {
  double time;  // seconds of std::chrono::steady_clock
  Device device;
  const void* data;   // where the block begins
  int64_t bytes;      // as requested; negative: the block was given back
  const char* phase;  // what the thread was doing (tracer.h); null where no trace says it
};

inline constinit std::atomic<bool> memory_trace_on{false};
inline bool memory_trace_is_on() { return memory_trace_on.load(std::memory_order_relaxed); }

/// Starts to record the memory of all devices, for the whole process. What was recorded before is dropped.
void start_memory_trace();
/// Stops, and returns what was recorded; of one device in the order in which its allocator did it.
std::vector<MemoryEvent> take_memory_trace();
/// For allocators, while memory_trace_is_on(). What does not fit into memory is left out.
void trace_memory(Device device, const void* data, int64_t bytes) noexcept;

}  // namespace tandem::detail
