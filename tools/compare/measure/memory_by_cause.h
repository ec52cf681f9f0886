// What the memory of a device was used for, from the record of its blocks.
#pragma once
#include "tandem/core/trace/memory_trace.h"
#include "tandem/tools/compare/measure/anatomy.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// What a block of memory belongs to, by its address at the end of the step.
struct Owned {
  const void* data = nullptr;
  std::string cause;
};

/// The memory of a device within `step`, by cause: that of `owned` for blocks that are there at the end, otherwise that
/// of the phase in which a block was taken. What was there before the record counts as input: the data set.
/// @param events  of all devices, from before the network was made
/// @param before  bytes in use when the record began
Memory memory_by_cause(const std::vector<detail::MemoryEvent>& events, Device device, StepTimes step, int64_t before,
                       const std::vector<Owned>& owned);

}  // namespace tandem::tools::compare
