// Allocator of host memory for the virtual CPU devices: cached by size class, counted per device. Also memory
// statistics for all devices; GPU memory comes from core/cuda/allocator.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {
namespace detail {

/// Allocates uninitialised memory for virtual CPU device `device_index`, aligned to 64 bytes; null if bytes == 0. Freed
/// blocks are cached and reused for requests of the same size class (at most an eighth larger, or 63 bytes for up to 1
/// KiB), because touching fresh pages costs more than most operations. Only empty_cache(), and an allocation that
/// fails, return them to the system.
/// @throws OutOfMemoryError that names the device, the request and the memory in use, if emptying all caches did not
/// help
void* allocate(int device_index, size_t bytes);
/// Frees memory from allocate(device_index, bytes), on any thread. Null is allowed.
void deallocate(int device_index, void* data, size_t bytes) noexcept;

}  // namespace detail

/// Memory statistics of one device.
struct MemoryStats {
  int64_t current = 0;      // bytes in use, as requested by the callers (before rounding up)
  int64_t peak = 0;         // maximum of `current` since the last reset
  int64_t reserved = 0;     // bytes obtained from the system, including cached free blocks
  int64_t allocations = 0;  // blocks handed out so far
};
/// Statistics of a device. @throws Error if `device` is a GPU that does not exist
MemoryStats memory_stats(Device device = kCPU);
/// Resets the peak to the bytes in use now.
void reset_peak_memory_stats(Device device = kCPU);

/// Returns the cached free blocks of all devices, GPUs and page-locked memory included, to the system. Synchronizes
/// with each GPU that has such blocks.
void empty_cache() noexcept;

}  // namespace tandem
