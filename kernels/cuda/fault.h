// Reports indices out of range from kernels. A kernel has an `IndexErrorReporter` parameter, reports the invalid index
// and skips the element:
//   if (is_out_of_range(index, limit)) return report(position, index, limit);
#pragma once
#include "tandem/core/cuda/fault.h"
#include "tandem/core/half.h"
#include "tandem/kernels/cuda/launch.h"

namespace tandem::kernels::cuda {

TANDEM_HD bool is_out_of_range(int64_t index, int64_t limit) {
  return static_cast<uint64_t>(index) >= static_cast<uint64_t>(limit);
}
/// Writes reports to the device's fault record, with the name of the operation for the message. Must be constructed on
/// the host, because the host must be able to read the name, and a string literal in device code is in device memory.
class IndexErrorReporter {
 public:
  IndexErrorReporter(const char* op, Device device) : op_(op), fault_(tandem::cuda::device_fault(device)) {}
  /// Reports that the element at position `position` of an index tensor is `index`, which is not in [0, limit). Only
  /// the first report is kept.
  __device__ void operator()(int64_t position, int64_t index, int64_t limit) const {
    if (compare_and_swap_state(0, 1) != 0) return;
    fault_->op = op_;
    fault_->position = position;
    fault_->index = index;
    fault_->limit = limit;
    __threadfence_system();  // system-wide, because the host may read the fault while the kernel runs
    compare_and_swap_state(1, 2);
  }
  const char* op() const { return op_; }

 private:
  /// Atomically replaces the fault record's state by `state` if it is `expected`, and returns the old state. The host
  /// writes the state only when it is 2 (complete); no thread of the device writes it then. So a device-scope atomic is
  /// enough. A system-scope atomic would require a bus that supports atomics; on other buses, compute-sanitizer's
  /// memcheck reports it as an error.
  __device__ int compare_and_swap_state(int expected, int state) const {
#if defined(__CUDACC__)
    return atomicCAS(&fault_->state, expected, state);
#else
    return atomicCAS_system(&fault_->state, expected, state);
#endif
  }
  const char* op_;
  tandem::cuda::Fault* fault_;
};

}  // namespace tandem::kernels::cuda
