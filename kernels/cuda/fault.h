// How kernels report an index out of range. A kernel takes `Fault* fault` and `const char* op` (a literal, of which the
// device keeps the address alone), and passes over the element:
//   if (outside(index, limit)) return report(fault, op, place, index, limit);
#pragma once
#include "tandem/core/cuda_fault.h"
#include "tandem/core/half.h"
#include "tandem/kernels/cuda/launch.h"

namespace tandem::kernels::cuda {

using tandem::cuda::Fault;
using tandem::cuda::fault_word;

TANDEM_HD bool outside(int64_t index, int64_t limit) {
  return static_cast<uint64_t>(index) >= static_cast<uint64_t>(limit);
}
/// Element `place` of an index tensor is `index`, which is not in [0, limit). The first report stays.
__device__ inline void report(Fault* fault, const char* op, int64_t place, int64_t index, int64_t limit) {
  if (atomicCAS(&fault->state, 0, 1) != 0) return;
  fault->op = op, fault->place = place, fault->index = index, fault->limit = limit;
  __threadfence_system();  // the host may look while the kernel runs
  atomicCAS(&fault->state, 1, 2);
}

}  // namespace tandem::kernels::cuda
