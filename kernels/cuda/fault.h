// How kernels report an index out of range. A kernel takes a Reporter and passes over the element:
//   if (outside(index, limit)) return report(place, index, limit);
#pragma once
#include "tandem/core/cuda/fault.h"
#include "tandem/core/half.h"
#include "tandem/kernels/cuda/launch.h"

namespace tandem::kernels::cuda {

TANDEM_HD bool outside(int64_t index, int64_t limit) {
  return static_cast<uint64_t>(index) >= static_cast<uint64_t>(limit);
}
/// Where a kernel reports to, and the operation (a literal) that the message will name. Only the host can make one: a
/// literal in device code lies in the device's memory, where the host could not read it.
class Reporter {
 public:
  Reporter(const char* op, Device device) : op_(op), fault_(tandem::cuda::fault_word(device)) {}
  /// Element `place` of an index tensor is `index`, which is not in [0, limit). The first report stays.
  __device__ void operator()(int64_t place, int64_t index, int64_t limit) const {
    if (exchange(0, 1) != 0) return;
    fault_->op = op_;
    fault_->place = place;
    fault_->index = index;
    fault_->limit = limit;
    __threadfence_system();  // the host may look while the kernel runs
    exchange(1, 2);
  }
  const char* op() const { return op_; }

 private:
  /// Compares and exchanges the state. The host changes it too, but only what no thread writes any more, a 2: the
  /// device's own operation will do. One of the whole system needs a bus that has it (memcheck refuses it on others).
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
