// Host memory for the virtual CPU devices: cached by size class, counted per device.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {

/// 64-byte aligned memory of a virtual CPU device. Freed blocks are kept: giving pages back and touching fresh ones
/// costs more than most operations. @throws OutOfMemoryError naming device, request and what is held
void* allocate(int device_index, size_t bytes);
void deallocate(int device_index, void* data, size_t bytes);

struct MemoryStats {
  int64_t current = 0;      // bytes in use, as requested
  int64_t peak = 0;         // the most that `current` was since the last reset
  int64_t reserved = 0;     // bytes held from the system, cached ones included
  int64_t allocations = 0;  // calls of allocate
};
MemoryStats memory_stats(Device device = kCPU);
void reset_peak_memory_stats(Device device = kCPU);
/// Gives cached blocks of all devices back to the system.
void empty_cache();

}  // namespace tandem
