// Implements plan_elementwise, plan_raw and plan_rows, which fill in a Loop from the tensors that it writes and reads.
#include "tandem/kernels/cpu/planner.h"

#include <sstream>

#include "tandem/kernels/collapse.h"

namespace tandem::kernels::cpu {
std::string names_of_dtypes(const LoopTable& table) {
  std::ostringstream names;
  const char* separator = "";
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!table.by_dtype[i]) continue;
    names << separator << static_cast<DType>(i);
    separator = ", ";
  }
  return names.str();
}

/// Fills in a Loop except for extents, range and grain. Strides are set as if all operands were contiguous.
/// @param is_flat  receives whether each operand has a single element, or is contiguous and as large as the first
///                operand (the usual cases)
static Loop make_loop(const char* name, LoopBody body, DType dtype, TensorRefs writes, TensorRefs reads,
                      std::initializer_list<LoopScalar> scalars, bool& is_flat) {
  const size_t count = writes.size() + reads.size();
  TANDEM_CHECK(count <= kMaxOperands && scalars.size() <= kMaxScalars, name, ": internal error: a loop has at most ",
               kMaxOperands, " operands and ", kMaxScalars, " scalars, got ", count, " and ", scalars.size());
  Loop loop;
  loop.body = body;
  loop.name = name;
  loop.dtype = dtype;
  loop.elementwise = false;
  loop.operand_count = static_cast<int>(count);
  loop.write_count = static_cast<int>(writes.size());
  loop.context = {};
  loop.scratch = 0;
  Operand* to = loop.operands;
  const TensorImpl* const first = count > 0 ? (writes.size() ? writes : reads).begin()->get().impl() : nullptr;
  is_flat = true;
  const auto add = [&](const Tensor& t) {
    const TensorImpl* const x = t.impl();
    const int64_t size = x ? element_size(x->dtype) : 0;
    to->buffer = x ? x->storage.get() : nullptr;
    // offset 0 for a tensor without elements, which may have no memory
    to->offset = x && x->numel > 0 ? x->offset * size : 0;
    to->bytes = x ? x->numel * size : 0;
    to->strides[0] = size;
    is_flat = is_flat && x && (x->numel == 1 || (x->contiguous && x->numel == first->numel));
    ++to;
  };
  for (const Tensor& t : writes) add(t);
  for (const Tensor& t : reads) add(t);
  std::copy(scalars.begin(), scalars.end(), loop.scalars);
  return loop;
}

Loop plan_elementwise(const char* name, const LoopTables& tables, TensorRefs writes, TensorRefs reads,
                      std::initializer_list<LoopScalar> scalars, int cost, const DType* dtype) {
  const Tensor& y = *writes.begin();
  const DType type = dtype ? *dtype : (reads.size() ? reads.begin()->get() : y).dtype();
  const int rank = static_cast<int>(y.dim());
  bool is_flat;
  Loop loop = make_loop(name, select_body(tables, type, name), type, writes, reads, scalars, is_flat);
  const int count = loop.operand_count;
  loop.elementwise = true;
  loop.range = y.numel();
  loop.grain = std::max<int64_t>(kElementwiseGrain / cost, 256);
  if (is_flat) {
    loop.extents.rank = 1;
    loop.extents.size[0] = loop.range;
    for (Operand* o = loop.operands; o < loop.operands + count; ++o)
      // an operand with a single element is repeated by stride 0
      if (o->bytes == o->strides[0] && loop.range != 1) o->strides[0] = 0;
    return loop;
  }
  const Tensor* all[kMaxOperands];
  int64_t strides[kMaxOperands][kMaxDims];  // byte strides of each operand, broadcast to y's dimensions
  int i = 0;
  for (const TensorRefs* list : {&writes, &reads})
    for (const Tensor& t : *list) {
      all[i] = &t;
      broadcast_strides(t, rank, strides[i]);
      ++i;
    }
  loop.extents.rank = collapse_dims(y.sizes(), count, strides, loop.extents.size,
                                    [&](int k, int d) -> int64_t& { return loop.operands[k].strides[d]; });
  if (loop.extents.rank == 0) {  // a single element
    loop.extents = {1, {1}};
    for (int k = 0; k < count; ++k) loop.operands[k].strides[0] = all[k]->itemsize();
  }
  return loop;
}

Loop plan_raw(const char* name, LoopBody body, DType dtype, TensorRefs writes, TensorRefs reads,
              std::initializer_list<LoopScalar> scalars, int64_t range, int64_t grain) {
  bool is_flat;
  Loop loop = make_loop(name, body, dtype, writes, reads, scalars, is_flat);
  loop.extents.rank = 0;
  int i = 0;
  for (const TensorRefs* list : {&writes, &reads})
    for (const Tensor& t : *list) {
      Operand& o = loop.operands[i++];
      if (!t.defined()) continue;
      for (size_t d = 0; d < t.sizes().size(); ++d) o.strides[d] = t.strides()[d] * t.itemsize();
      if (i > 1) continue;
      loop.extents.rank = static_cast<int>(t.dim());
      std::copy(t.sizes().begin(), t.sizes().end(), loop.extents.size);
    }
  loop.range = range;
  loop.grain = std::max<int64_t>(grain, 1);
  return loop;
}

Loop plan_rows(const char* name, const LoopTables& tables, DType dtype, TensorRefs writes, TensorRefs reads,
               std::initializer_list<LoopScalar> scalars, int64_t range, int64_t work_per_unit) {
  bool is_flat;
  Loop loop = make_loop(name, select_body(tables, dtype, name), dtype, writes, reads, scalars, is_flat);
  loop.extents = {1, {range}};
  loop.range = range;
  loop.grain = std::max<int64_t>(kElementwiseGrain / 2 / std::max<int64_t>(work_per_unit, 1), 1);
  return loop;
}

}  // namespace tandem::kernels::cpu
