// Implements copies, casts and where on the GPU: chooses a kernel and plans its launch.
#include "tandem/kernels/cuda/copy.h"

#include <utility>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/kernels/cuda/planner.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cuda {
namespace {

ElementKernel cast_kernel(DType from, DType to) {
  const CastKernelTable& table = !is_floating_point(from) ? cast_from_int64
                                 : from == kFloat64       ? cast_from_float64
                                                          : cast_from_float32;
  switch (to) {
    case kFloat64: return table.float64;
    case kInt32: return table.int32;
    case kBool: return table.boolean;
    default: return is_floating_point(to) ? table.float32 : table.int64;
  }
}

/// Prepares the plan for copy_transposed: swaps dimension 1 with the dimension along which x is contiguous. Returns
/// false if y is not contiguous along dimension 0, x is contiguous along none of the other dimensions, or either
/// dimension is too short for tiles.
bool prepare_transpose(PlannedElements& elements) {
  constexpr int64_t kMinEdge = 16;
  ElementPlan& plan = elements.plan;
  ElementOperand &y = plan.operands[0], &x = plan.operands[1];
  if (y.strides[0] != y.size || x.strides[0] == x.size || x.strides[0] == 0 || elements.count > 0x7fffffff)
    return false;
  for (int d = 1; d < plan.rank; ++d) {
    if (x.strides[d] != x.size) continue;
    if (elements.sizes[0] < kMinEdge || elements.sizes[d] < kMinEdge) return false;
    std::swap(elements.sizes[1], elements.sizes[d]);
    for (ElementOperand* o : {&y, &x}) std::swap(o->strides[1], o->strides[d]);
    for (int e = 0; e < plan.rank; ++e) plan.dividers[e] = Divider32(elements.sizes[e]);
    return true;
  }
  return false;
}

}  // namespace

void copy(const Tensor& x, Tensor& y) {
  if (y.numel() == 0) return;
  const bool same_layout = (x.is_contiguous() && y.is_contiguous()) ||
                           (x.strides() == y.strides() && core::is_non_overlapping_and_dense(*x.impl()));
  if (x.dtype() == y.dtype() && x.sizes() == y.sizes() && same_layout) {
    // nothing to do for a copy of a tensor to itself, which the CUDA runtime rejects
    if (x.raw_data() == y.raw_data()) return;
    const gpu::DeviceGuard guard(y.device().index());
    gpu::copy_async(y.raw_data(), x.raw_data(), static_cast<size_t>(y.nbytes()),
                    tandem::cuda::current_stream(y.device()).handle());
    return;
  }
  PlannedElements elements = plan_elements("copy", y, {x});
  if (x.dtype() == y.dtype() && prepare_transpose(elements))
    return copy_transposed(elements.plan, elements.count / (elements.sizes[0] * elements.sizes[1]), y.device());
  elements.plan.plain_vectors_per_thread = 1;
  const bool cast = x.dtype() != y.dtype(), in_double = cast && x.dtype() == kFloat64;
  run_elements("copy", cast ? cast_kernel(x.dtype(), y.dtype()) : copy_bits,
               in_double ? kVectorWidth<double> : kVectorWidth<uint64_t>, elements, y.device());
}

void where(const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& y) {
  PlannedElements elements = plan_elements("where", y, {condition, a, b});
  elements.plan.plain_vectors_per_thread =
      condition.dtype() == kBool && a.dtype() == y.dtype() && b.dtype() == y.dtype();
  run_elements("where", where_bits, kVectorWidth<uint64_t>, elements, y.device());
}

}  // namespace tandem::kernels::cuda
