#include "tandem/kernels/cpu/planner.h"

#include "tandem/kernels/collapse.h"

namespace tandem::kernels::cpu {
namespace {

void set_operand(Operand& to, const Tensor& t) {
  to.buffer = &t.storage()->buffer;
  to.offset = t.storage_offset() * t.itemsize();
}

}  // namespace

Loop plan_elementwise(const char* name, const LoopTables& rows, TensorRefs writes, TensorRefs reads,
                      std::initializer_list<LoopScalar> scalars, int cost, const DType* dtype) {
  const Tensor& y = *writes.begin();
  const DType type = dtype ? *dtype : (reads.size() ? reads.begin()->get() : y).dtype();
  const int count = static_cast<int>(writes.size() + reads.size()), rank = static_cast<int>(y.dim());
  TANDEM_CHECK(count <= kMaxOperands, name, ": a loop has at most ", kMaxOperands, " operands, got ", count);
  Loop loop;
  loop.body = pick(rows, type, name);
  loop.name = name;
  loop.dtype = type;
  loop.operand_count = count;
  loop.write_count = static_cast<int>(writes.size());
  loop.context = nullptr;
  loop.range = y.numel();

  const Tensor* all[kMaxOperands];
  int64_t strides[kMaxOperands][kMaxDims];  // bytes, broadcast to y's dimensions
  int i = 0;
  for (const TensorRefs* list : {&writes, &reads})
    for (const Tensor& t : *list) {
      all[i] = &t;
      set_operand(loop.operands[i], t);
      broadcast_strides(t, rank, strides[i]);
      ++i;
    }
  loop.extents.rank = collapse(y.sizes(), count, strides, loop.extents.size,
                               [&](int k, int d) -> int64_t& { return loop.operands[k].strides[d]; });
  if (loop.extents.rank == 0) {  // a single element
    loop.extents = {1, {1}};
    for (int k = 0; k < count; ++k) loop.operands[k].strides[0] = all[k]->itemsize();
  }
  std::copy(scalars.begin(), scalars.end(), loop.scalars);
  loop.grain = std::max<int64_t>(kElementwiseGrain / cost, 256);
  return loop;
}

Loop plan_raw(const char* name, LoopBody body, DType dtype, TensorRefs writes, TensorRefs reads,
              std::initializer_list<LoopScalar> scalars, int64_t range, int64_t grain) {
  Loop loop;
  loop.body = body;
  loop.name = name;
  loop.dtype = dtype;
  loop.write_count = static_cast<int>(writes.size());
  loop.operand_count = static_cast<int>(writes.size() + reads.size());
  TANDEM_CHECK(loop.operand_count <= kMaxOperands && scalars.size() <= kMaxScalars, name, ": too many operands");
  int i = 0;
  for (const TensorRefs* list : {&writes, &reads})
    for (const Tensor& t : *list) {
      Operand& o = loop.operands[i];
      set_operand(o, t);
      for (size_t d = 0; d < t.sizes().size(); ++d) o.strides[d] = t.strides()[d] * t.itemsize();
      if (i++ == 0) {
        loop.extents.rank = static_cast<int>(t.dim());
        std::copy(t.sizes().begin(), t.sizes().end(), loop.extents.size);
      }
    }
  std::copy(scalars.begin(), scalars.end(), loop.scalars);
  loop.context = nullptr;
  loop.range = range;
  loop.grain = std::max<int64_t>(grain, 1);
  return loop;
}

Loop plan_rows(const char* name, const LoopTables& rows, DType dtype, TensorRefs writes, TensorRefs reads,
               std::initializer_list<LoopScalar> scalars, int64_t range, int64_t work_per_unit) {
  Loop loop;
  loop.body = pick(rows, dtype, name);
  loop.name = name;
  loop.dtype = dtype;
  loop.write_count = static_cast<int>(writes.size());
  loop.operand_count = static_cast<int>(writes.size() + reads.size());
  TANDEM_CHECK(loop.operand_count <= kMaxOperands && scalars.size() <= kMaxScalars, name, ": too many operands");
  int i = 0;
  for (const TensorRefs* list : {&writes, &reads})
    for (const Tensor& t : *list) {
      Operand& o = loop.operands[i++];
      if (t.defined())
        set_operand(o, t);
      else
        o.buffer = nullptr, o.offset = 0;
    }
  loop.extents = {1, {range}};
  loop.context = nullptr;
  std::copy(scalars.begin(), scalars.end(), loop.scalars);
  loop.range = range;
  loop.grain = std::max<int64_t>(kElementwiseGrain / 2 / std::max<int64_t>(work_per_unit, 1), 1);
  return loop;
}

}  // namespace tandem::kernels::cpu
