// Functions that plan elementwise launches: they check devices, collapse dimensions, and choose between vectors and
// single elements. They are ordinary C++ functions, compiled once for all kernels.
#pragma once
#include <initializer_list>

#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/element_plan.h"

namespace tandem::kernels::cuda {

/// A list of references to tensors, which needs no changes of reference counts.
using TensorRefs = std::initializer_list<std::reference_wrapper<const Tensor>>;

/// Plan for any number of elements, which run_elements() splits into one or more launches.
struct PlannedElements {
  ElementPlan plan;
  int64_t count;
  int64_t sizes[kMaxDims];  // innermost first
};
/// Plans a call that writes y and reads inputs, which broadcast to y's shape. An input may be a one-element CPU tensor;
/// the plan then holds its value. Drops dimensions of size 1, orders the others by y's strides, and joins neighbouring
/// dimensions that are contiguous with each other in all operands.
/// @throws Error if an input is on another device, unless it is a one-element CPU tensor
PlannedElements plan_elements(const char* op, const Tensor& y, TensorRefs inputs);
/// Adds a scalar input with the given bits and dtype.
void add_scalar_operand(PlannedElements& elements, uint64_t bits, DType dtype);
/// Returns ElementPlan::plain_vectors_per_thread for a kernel that supports plain plans: the number of vectors per
/// thread, or 0 if the layout is not plain.
uint8_t plain_vectors(const PlannedElements& elements);
/// Launches a kernel over all elements. If plain_vectors_per_thread of the given plan is not 0, the kernel supports
/// plain plans of these dtypes, and gets one, with the number set, if the layout allows it. Otherwise the kernel runs
/// in vectors of `width` elements (the kernel's kVectorWidth) if all operands allow vectors, otherwise element by
/// element.
void run_elements(const char* op, ElementKernel kernel, int width, const PlannedElements& elements, Device device);

/// Computes y = f(inputs) by the kernel that the table has for the dtype of the first input.
/// @throws NotImplementedError that names op and dtype if the table has no kernel for the dtype
void elementwise(const char* op, const ElementKernelTable& table, Tensor& y, TensorRefs inputs,
                 std::initializer_list<LoopScalar> scalars = {});

/// Launches one elementwise kernel (launch.cu).
void launch_elements(const char* op, ElementKernel kernel, const ElementPlan& plan, int64_t blocks, int64_t threads,
                     Device device);

inline LoopScalar real(double value) {
  LoopScalar s;
  s.real = value;
  return s;
}

}  // namespace tandem::kernels::cuda
