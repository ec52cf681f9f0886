// Planners turn tensors into Loops: they check layout, collapse dimensions and choose the grain (size of a chunk of
// work). Unlike loop bodies, they are ordinary code, compiled once for the baseline processor.
#pragma once
#include <initializer_list>

#include "tandem/core/loop/run_loop.h"
#include "tandem/core/tensor.h"
#include "tandem/kernels/cpu/isa.h"

namespace tandem::kernels::cpu {

/// List of references to tensors. Planning with references changes no reference counts.
using TensorRefs = ArrayRef<std::reference_wrapper<const Tensor>>;

/// Number of elements that make a chunk of work for one thread if each element costs about one addition.
constexpr int64_t kElementwiseGrain = 32768;

/// Plans a loop over all elements. All tensors broadcast to the shape of the first write. `dtype` selects the loop
/// body; by default it is the dtype of the first read, or of the first write if there are no reads. `cost` is the work
/// per element, in additions.
Loop plan_elementwise(const char* name, const LoopTables& tables, TensorRefs writes, TensorRefs reads,
                      std::initializer_list<LoopScalar> scalars = {}, int cost = 1, const DType* dtype = nullptr);

/// Plans a loop over [0, range) whose operands are whole tensors, writes first, each with its buffer, offset and byte
/// strides. An undefined tensor keeps its position, with a null buffer. The extents are the sizes of the first operand.
/// A body may interpret strides and scalars freely.
Loop plan_raw(const char* name, LoopBody body, DType dtype, TensorRefs writes, TensorRefs reads,
              std::initializer_list<LoopScalar> scalars, int64_t range, int64_t grain);

/// Plans a loop over [0, range), where each index stands for a row, plane or channel, and costs `work_per_unit`
/// additions. The operands are contiguous, writes first, and may be undefined.
Loop plan_rows(const char* name, const LoopTables& tables, DType dtype, TensorRefs writes, TensorRefs reads,
               std::initializer_list<LoopScalar> scalars, int64_t range, int64_t work_per_unit);

/// Returns a pointer to the contiguous elements of operand k; null if the tensor is undefined.
template <class T> T* data(const Loop& loop, int k) {
  const Operand& o = loop.operands[k];
  return o.buffer ? reinterpret_cast<T*>(o.buffer->data + o.offset) : nullptr;
}
/// Plans a loop whose body is ordinary code, for example a call of a library. The body is a lambda without captures,
/// called as body(context, loop, begin, end). The loop refers to `context`, which must live until the loop has run.
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
