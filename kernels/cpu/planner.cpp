#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
namespace {

void set_operand(Operand& to, const Tensor& t) {
  to.buffer = &t.storage()->buffer;
  to.offset = t.storage_offset() * t.itemsize();
}

}  // namespace

Loop plan_elementwise(const char* name, const LoopRows& rows, TensorRefs writes, TensorRefs reads,
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
      const int missing = rank - static_cast<int>(t.dim());
      for (int d = 0; d < rank; ++d) {
        const int64_t size = d < missing ? 1 : t.sizes()[static_cast<size_t>(d - missing)];
        strides[i][d] = size == 1 ? 0 : t.strides()[static_cast<size_t>(d - missing)] * t.itemsize();
      }
      ++i;
    }
  // Order dimensions by y's stride, so that a permuted tensor is walked as it lies in memory.
  int order[kMaxDims];
  for (int d = 0; d < rank; ++d) order[d] = d;
  for (int d = 1; d < rank; ++d)
    for (int k = d;
         k > 0 && strides[0][order[k - 1]] < strides[0][order[k]] && y.sizes()[static_cast<size_t>(order[k])] > 1; --k)
      std::swap(order[k - 1], order[k]);

  loop.extents.rank = 0;
  for (int o = 0; o < rank; ++o) {
    const int d = order[o];
    const int64_t size = y.sizes()[static_cast<size_t>(d)];
    if (size == 1) continue;
    const int last = loop.extents.rank - 1;
    bool joins = last >= 0;
    for (int k = 0; k < count && joins; ++k) joins = loop.operands[k].strides[last] == strides[k][d] * size;
    const int at = joins ? last : loop.extents.rank++;
    loop.extents.size[at] = joins ? loop.extents.size[at] * size : size;
    for (int k = 0; k < count; ++k) loop.operands[k].strides[at] = strides[k][d];
  }
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

}  // namespace tandem::kernels::cpu
