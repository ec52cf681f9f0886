// Implements the planning of elementwise calls: collapses dimensions, chooses vectors or single elements, splits calls
// that exceed 32-bit indices, and launches.
#include "tandem/kernels/cuda/planner.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <sstream>

#include "tandem/kernels/collapse.h"

namespace tandem::kernels::cuda {
namespace {

// maximum number of elements per launch, because kernels use 32-bit indices
constexpr int64_t kMaxElements = 0x7fffffff;
// Larger calls are split at multiples of this number of elements, so that all parts have the same alignment.
constexpr int64_t kSliceMultiple = 4096;

/// Returns whether all operands can be accessed in vectors. A partial last vector is possible only if rank is 1.
bool can_vectorize(const PlannedElements& elements, int width) {
  const ElementPlan& plan = elements.plan;
  if (plan.rank > 1 && elements.sizes[0] % width != 0) return false;
  for (int k = 0; k < plan.operand_count; ++k) {
    const ElementOperand& o = plan.operands[k];
    if (o.strides[0] == 0 && k > 0) continue;
    const int64_t bytes = std::min(int64_t{width} * o.size, int64_t{16});
    if (o.strides[0] != o.size || reinterpret_cast<uintptr_t>(o.data) % static_cast<uintptr_t>(bytes) != 0)
      return false;
    for (int d = 1; d < plan.rank; ++d)
      if (o.strides[d] % bytes != 0) return false;
  }
  return true;
}

/// Fills all eight bytes of each scalar's value with the scalar's element.
void repeat_values(ElementPlan& plan) {
  for (int k = 0; k < plan.operand_count; ++k) {
    ElementOperand& o = plan.operands[k];
    for (size_t at = o.size; at < sizeof o.value; at += o.size)
      std::memcpy(reinterpret_cast<char*>(&o.value) + at, &o.value, o.size);
  }
}

/// Returns a plan for the part of the elements with indices in [begin, begin + size) along dimension d.
PlannedElements slice_elements(PlannedElements elements, int d, int64_t begin, int64_t size) {
  for (ElementOperand& o : elements.plan.operands)
    if (o.data) o.data += begin * o.strides[d];
  elements.count = elements.count / elements.sizes[d] * size;
  elements.sizes[d] = size;
  return elements;
}

/// Launches a kernel with `each` items per thread.
void launch_items(const char* op, ElementKernel kernel, const ElementPlan& plan, uint32_t each, Device device) {
  const uint32_t threads = (plan.items + each - 1) / each, block = std::min<uint32_t>(threads, kElementThreads);
  launch_elements(op, kernel, plan, (threads + block - 1) / block, block, device);
}

/// Returns the names of the dtypes for which the table has a kernel, for messages.
std::string names_of_dtypes(const ElementKernelTable& table) {
  std::ostringstream names;
  const char* separator = "";
  const auto add = [&](ElementKernel kernel, std::initializer_list<DType> dtypes) {
    if (!kernel) return;
    for (const DType dtype : dtypes) {
      names << separator << dtype;
      separator = ", ";
    }
  };
  add(table.float32, {kFloat32, kFloat16, kBFloat16});
  add(table.float64, {kFloat64});
  add(table.int64, {kInt64, kInt32, kInt16, kInt8, kUInt8});
  add(table.boolean, {kBool});
  return names.str();
}

}  // namespace

PlannedElements plan_elements(const char* op, const Tensor& y, TensorRefs inputs) {
  TANDEM_CHECK(inputs.size() <= kMaxElementInputs, op, ": internal error: ", inputs.size(),
               " inputs, but an elementwise kernel takes at most ", kMaxElementInputs, "; please report it");
  const int rank = static_cast<int>(y.dim());
  PlannedElements elements{};
  ElementPlan& plan = elements.plan;
  int64_t* const sizes = elements.sizes;
  int64_t strides[1 + kMaxElementInputs][kMaxDims];
  int& operands = plan.operand_count;
  const auto add_operand = [&](const Tensor& t) {
    ElementOperand& o = plan.operands[operands];
    o.dtype = t.dtype();
    o.size = static_cast<uint8_t>(t.itemsize());
    if (t.device() == y.device()) {
      o.data = static_cast<char*>(t.raw_data());
    } else {
      TANDEM_CHECK(t.is_cpu() && t.numel() == 1, op,
                   ": Expected all tensors to be on the same device, but found at least two devices, ", y.device(),
                   " and ", t.device());
      std::memcpy(&o.value, t.raw_data(), o.size);
    }
    broadcast_strides(t, rank, strides[operands++]);
  };
  add_operand(y);
  for (const Tensor& x : inputs) add_operand(x);

  int64_t collapsed[kMaxDims], collapsed_strides[1 + kMaxElementInputs][kMaxDims];  // outermost first
  plan.rank = collapse_dims(y.sizes(), operands, strides, collapsed,
                            [&](int k, int d) -> int64_t& { return collapsed_strides[k][d]; });
  for (int d = 0; d < plan.rank; ++d) {
    const int from = plan.rank - 1 - d;
    sizes[d] = collapsed[from];
    for (int k = 0; k < operands; ++k) plan.operands[k].strides[d] = collapsed_strides[k][from];
  }
  if (plan.rank == 0) {  // a single element
    plan.rank = 1;
    sizes[0] = 1;
    for (int k = 0; k < operands; ++k) plan.operands[k].strides[0] = plan.operands[k].data ? plan.operands[k].size : 0;
  }
  elements.count = y.numel();
  return elements;
}

void add_scalar_operand(PlannedElements& elements, uint64_t bits, DType dtype) {
  ElementOperand& o = elements.plan.operands[elements.plan.operand_count++];
  o.value = bits;
  o.dtype = dtype;
  o.size = static_cast<uint8_t>(element_size(dtype));
}

uint8_t plain_vectors(const PlannedElements& elements) {
  const ElementPlan& plan = elements.plan;
  size_t largest = 1;
  for (int k = 0; k < plan.operand_count; ++k) largest = std::max<size_t>(largest, plan.operands[k].size);
  const size_t width = static_cast<size_t>(plain_width(largest));
  if (plan.rank != 1 || elements.count % static_cast<int64_t>(width) != 0) return 0;
  for (int k = 0; k < plan.operand_count; ++k) {
    const ElementOperand& o = plan.operands[k];
    if (o.data && (o.strides[0] != o.size || reinterpret_cast<uintptr_t>(o.data) % (width * o.size) != 0)) return 0;
  }
  return static_cast<uint8_t>(kPlainElements / width);
}
void run_elements(const char* op, ElementKernel kernel, int width, const PlannedElements& elements, Device device) {
  if (elements.count == 0) return;
  if (elements.count > kMaxElements) {
    int d = elements.plan.rank - 1;
    while (elements.sizes[d] == 1) --d;
    const int64_t size = elements.sizes[d], rounded = size / 2 / kSliceMultiple * kSliceMultiple;
    const int64_t half = rounded > 0 ? rounded : size / 2;
    run_elements(op, kernel, width, slice_elements(elements, d, 0, half), device);
    run_elements(op, kernel, width, slice_elements(elements, d, half, size - half), device);
    return;
  }
  ElementPlan plan = elements.plan;
  plan.count = plan.items = static_cast<uint32_t>(elements.count);
  plan.plain_vectors_per_thread = plan.plain_vectors_per_thread ? plain_vectors(elements) : 0;
  if (plan.plain_vectors_per_thread) {
    repeat_values(plan);
    plan.items = plan.count / (kPlainElements / plan.plain_vectors_per_thread);
    return launch_items(op, kernel, plan, plan.plain_vectors_per_thread, device);
  }
  plan.is_vectorized = can_vectorize(elements, width);
  int64_t inner = elements.sizes[0];
  if (plan.is_vectorized) {
    for (int k = 0; k < plan.operand_count; ++k) plan.operands[k].strides[0] *= width;
    inner = (inner + width - 1) / width;
    plan.items = (plan.items + static_cast<uint32_t>(width) - 1) / static_cast<uint32_t>(width);
  }
  for (int d = 0; d < plan.rank; ++d) plan.dividers[d] = Divider32(d == 0 ? inner : elements.sizes[d]);
  launch_items(op, kernel, plan, plan.is_vectorized ? kVectorsPerThread : kScalarsPerThread, device);
}

void elementwise(const char* op, const ElementKernelTable& table, Tensor& y, TensorRefs inputs,
                 std::initializer_list<LoopScalar> scalars) {
  const DType type = inputs.begin()->get().dtype();
  const ElementKernel kernel = type == kFloat64          ? table.float64
                               : is_floating_point(type) ? table.float32
                               : type == kBool           ? table.boolean
                                                         : table.int64;
  TANDEM_CHECK_AS(NotImplementedError, kernel, op, ": not implemented for '", type,
                  "'; accepted: ", names_of_dtypes(table));
  PlannedElements elements = plan_elements(op, y, inputs);
  elements.plan.plain_vectors_per_thread =
      type != kFloat64 && (y.dtype() == type || y.dtype() == kBool) &&
      std::all_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return x.dtype() == type; });
  std::copy(scalars.begin(), scalars.end(), elements.plan.scalars);
  run_elements(op, kernel, type == kFloat64 ? kVectorWidth<double> : kVectorWidth<float>, elements, y.device());
}

}  // namespace tandem::kernels::cuda
