// Builds the out-of-memory message for GPUs. Internal.
#pragma once
#include <string>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/block_pool.h"

namespace tandem::cuda {

/// Returns a message with these sizes: the request; the allocator's memory that is in use, lost to rounding, free, and
/// waiting (freed, but still used by other streams); and the device's free and total memory.
std::string out_of_memory_report(Device device, gpu::StreamHandle stream, size_t bytes, const BlockPool& blocks,
                                 const MemoryStats& stats);

}  // namespace tandem::cuda
