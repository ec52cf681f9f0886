// Attributes the memory of a device to causes (parameters, gradients, activations, ...), from a record of its
// allocations.
#pragma once
#include "tandem/core/trace/memory_trace.h"
#include "tandem/tools/compare/measure/time_breakdown.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Address and cause of a block of memory that is still in use at the end of the step.
struct BlockInUse {
  const void* data = nullptr;
  std::string cause;
};

/// Returns the memory of a device during `step`, by cause. If a block is in use at the step's end and `owned_blocks`
/// lists it, its cause comes from `owned_blocks`. The cause of any other block follows from the phase in which it was
/// allocated. If step.outputs_done is set, gradients of the outputs are "outputs": the blocks that backward allocates
/// before that time, and those that it scatters afterwards. Memory that was in use before recording began counts as
/// "input", because it holds the data set.
/// @param events  allocations and frees on all devices; recording must begin before the network is created
/// @param before  bytes that were in use on `device` when recording began
Memory attribute_memory(const std::vector<detail::MemoryEvent>& events, Device device, StepTimes step, int64_t before,
                        const std::vector<BlockInUse>& owned_blocks);

}  // namespace tandem::tools::compare
