// Host memory for the virtual CPU devices: cached by size class, counted per device. And what can be asked of the
// memory of any device; that of GPUs comes from core/cuda/allocator.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {
namespace detail {

/// Uninitialised memory of virtual CPU device `device_index`, aligned to 64 bytes; null when bytes == 0.
/// Freed blocks are kept for requests of the same size class (at most an eighth larger, 63 bytes below 1 KiB), because
/// touching fresh pages costs more than most operations; only empty_cache() hands them back to the system.
/// @throws OutOfMemoryError that names device, request and what is in use, after emptying all caches did not help
void* allocate(int device_index, size_t bytes);
/// Takes back what allocate(device_index, bytes) returned, on any thread. Null is fine.
void deallocate(int device_index, void* data, size_t bytes) noexcept;

}  // namespace detail

/// What the allocator knows of one device.
struct MemoryStats {
  int64_t current = 0;      // bytes in use, as requested
  int64_t peak = 0;         // the most that `current` was since the last reset
  int64_t reserved = 0;     // bytes held from the system, freed blocks included
  int64_t allocations = 0;  // blocks handed out so far
};
/// @throws Error when `device` is a GPU that does not exist
MemoryStats memory_stats(Device device = kCPU);
/// The peak starts again from what is in use now.
void reset_peak_memory_stats(Device device = kCPU);

/// Hands the freed blocks of all devices, GPUs and page-locked memory included, back to the system. Waits for GPUs that
/// have any.
void empty_cache() noexcept;

}  // namespace tandem
