// Reporting of indices out of range by kernels. A kernel takes a Reporter, reports the index and skips the element:
//   if (outside(index, limit)) return report(place, index, limit);
#pragma once
#include "tandem/core/cuda/fault.h"
#include "tandem/core/half.h"
#include "tandem/kernels/cuda/launch.h"

namespace tandem::kernels::cuda {

TANDEM_HD bool outside(int64_t index, int64_t limit) {
  return static_cast<uint64_t>(index) >= static_cast<uint64_t>(limit);
}
/// Reports into the device's fault word, with the name of the operation (a string literal) for the message. Constructed
/// on the host only: a literal in device code is in device memory, where the host cannot read it.
class Reporter {
 public:
  Reporter(const char* op, Device device) : op_(op), fault_(tandem::cuda::fault_word(device)) {}
  /// Reports that element `place` of an index tensor is `index`, which is not in [0, limit). Only the first report is
  /// kept.
  __device__ void operator()(int64_t place, int64_t index, int64_t limit) const {
    if (exchange(0, 1) != 0) return;
    fault_->op = op_;
    fault_->place = place;
    fault_->index = index;
    fault_->limit = limit;
    __threadfence_system();  // the host may read the fault while the kernel runs
    exchange(1, 2);
  }
  const char* op() const { return op_; }

 private:
  /// Atomic compare-and-swap of the state; returns the old state. The host writes the state too, but only after it is 2
  /// (complete) and no thread writes it any more, so a device-scope atomic is enough. A system-scope atomic requires a
  /// bus that supports atomics (memcheck rejects it on others).
  __device__ int exchange(int expected, int state) const {
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
