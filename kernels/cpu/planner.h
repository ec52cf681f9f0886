// Planners turn tensors into Loops: they check layout, collapse dimensions and choose the grain. Ordinary code,
// compiled once for the baseline processor.
#pragma once
#include <initializer_list>

#include "tandem/core/loop/run_loop.h"
#include "tandem/core/tensor.h"
#include "tandem/kernels/cpu/isa.h"

namespace tandem::kernels::cpu {

/// A list of references: planning counts none.
using TensorRefs = ArrayRef<std::reference_wrapper<const Tensor>>;

/// Elements that are worth a chunk of their own when each costs about one addition.
constexpr int64_t kElementwiseGrain = 32768;

/// A loop over all elements. All tensors broadcast to the shape of the first write; the row is picked by `dtype` (of
/// the first read, or of the write when nothing is read, unless given). `cost` is per element, in additions.
Loop plan_elementwise(const char* name, const LoopTables& rows, TensorRefs writes, TensorRefs reads,
                      std::initializer_list<LoopScalar> scalars = {}, int cost = 1, const DType* dtype = nullptr);

/// A loop over `range` whose operands are whole tensors: buffer, offset and byte strides of each as they are, in the
/// order writes, reads; one that is undefined keeps its place, with a null buffer. Extents are the sizes of the first
/// operand (a body may interpret strides and scalars freely).
Loop plan_raw(const char* name, LoopBody body, DType dtype, TensorRefs writes, TensorRefs reads,
              std::initializer_list<LoopScalar> scalars, int64_t range, int64_t grain);

/// A loop over whole rows, planes or channels: `range` of them, each worth `work_per_unit` additions. The operands are
/// contiguous, in the order writes, reads, and may be undefined.
Loop plan_rows(const char* name, const LoopTables& rows, DType dtype, TensorRefs writes, TensorRefs reads,
               std::initializer_list<LoopScalar> scalars, int64_t range, int64_t work_per_unit);

/// Operand k as contiguous elements; null where the tensor was undefined.
template <class T> T* data(const Loop& loop, int k) {
  const Operand& o = loop.operands[k];
  return o.buffer ? reinterpret_cast<T*>(o.buffer->data + o.offset) : nullptr;
}
/// A loop whose body is ordinary code, a library's call for instance: a lambda without captures that is called as
/// body(context, loop, begin, end). The loop refers to `context`, which must live until it has run.
template <class C, class Body>
Loop plan_call(const char* name, DType dtype, TensorRefs writes, TensorRefs reads, const C& context, Body,
               int64_t range, int64_t grain, int64_t scratch = 0) {
  const LoopBody body = [](const Loop& loop, int64_t begin, int64_t end) {
    Body()(*static_cast<const C*>(loop.context.data), loop, begin, end);
  };
  Loop loop = plan_raw(name, body, dtype, writes, reads, {}, range, grain);
  loop.context = {&context, [](const void* c) -> void* { return new C(*static_cast<const C*>(c)); },
                  [](void* c) { delete static_cast<C*>(c); }};
  loop.scratch = scratch;
  return loop;
}

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
