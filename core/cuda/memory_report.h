// The words of an out-of-memory error of a GPU. Internal.
#pragma once
#include <string>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/blocks.h"

namespace tandem::cuda {

/// What was asked for, what is held, and by whom: in use, by rounding, free, waiting, and the device's own numbers.
std::string out_of_memory_report(Device device, gpu::StreamHandle stream, size_t bytes, const Blocks& blocks,
                                 const MemoryStats& stats);

}  // namespace tandem::cuda
