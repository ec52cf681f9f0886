// Attributes the memory of a device to causes, from the record of its blocks.
#pragma once
#include "tandem/core/trace/memory_trace.h"
#include "tandem/tools/compare/measure/anatomy.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// The cause of a block of memory that is in use at the end of the step, by its address.
struct Owned {
  const void* data = nullptr;
  std::string cause;
};

/// Returns the memory of a device during `step`, by cause. A block in use at the step's end has the cause that `owned`
/// names, if any. The cause of other blocks is the phase in which they were allocated. Memory in use before the record
/// began counts as "input": it is the data set.
/// @param events  of all devices, recorded from before the network was made
/// @param before  bytes in use when the record began
Memory memory_by_cause(const std::vector<detail::MemoryEvent>& events, Device device, StepTimes step, int64_t before,
                       const std::vector<Owned>& owned);

}  // namespace tandem::tools::compare
