// Planners turn tensors into Loops: they check layout, collapse dimensions and choose the grain. Ordinary code,
// compiled once for the baseline processor.
#pragma once
#include <functional>
#include <initializer_list>

#include "tandem/core/run_loop.h"
#include "tandem/core/tensor.h"
#include "tandem/kernels/cpu/isa.h"
#include "tandem/kernels/visit_real.h"

namespace tandem::kernels::cpu {

/// A list of references: planning counts none.
using TensorRefs = std::initializer_list<std::reference_wrapper<const Tensor>>;

/// Elements that are worth a chunk of their own when each costs about one addition.
constexpr int64_t kElementwiseGrain = 32768;

/// A loop over all elements. All tensors broadcast to the shape of the first write; the row is picked by `dtype` (of
/// the first read, or of the write when nothing is read, unless given). `cost` is per element, in additions.
Loop plan_elementwise(const char* name, const LoopTables& rows, TensorRefs writes, TensorRefs reads,
                      std::initializer_list<LoopScalar> scalars = {}, int cost = 1, const DType* dtype = nullptr);

/// A loop over `range` whose operands are whole tensors: buffer, offset and byte strides of each as they are, in the
/// order writes, reads; extents are the sizes of the first operand (a body may interpret strides and scalars freely).
Loop plan_raw(const char* name, LoopBody body, DType dtype, TensorRefs writes, TensorRefs reads,
              std::initializer_list<LoopScalar> scalars, int64_t range, int64_t grain);

/// A loop over whole rows, planes or channels: `range` of them, each worth `work_per_unit` additions. The operands are
/// contiguous, in the order writes, reads; one that is undefined keeps its place, with a null buffer.
Loop plan_rows(const char* name, const LoopTables& rows, DType dtype, TensorRefs writes, TensorRefs reads,
               std::initializer_list<LoopScalar> scalars, int64_t range, int64_t work_per_unit);

inline LoopScalar real(double value) {
  LoopScalar s;
  s.real = value;
  return s;
}
inline LoopScalar integer(int64_t value) {
  LoopScalar s;
  s.integer = value;
  return s;
}

}  // namespace tandem::kernels::cpu
