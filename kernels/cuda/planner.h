// Planners of elementwise kernels: they check devices, drop and join dimensions, and choose between vectors and single
// elements. Ordinary code, compiled once.
#pragma once
#include <initializer_list>

#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/element_plan.h"

namespace tandem::kernels::cuda {

/// A list of references: planning counts none.
using TensorRefs = std::initializer_list<std::reference_wrapper<const Tensor>>;

/// A plan of any number of elements, which becomes one launch or several.
struct PlannedElements {
  ElementPlan plan;
  int64_t count;
  int64_t sizes[kMaxDims];  // innermost first
};
/// The dimensions of y and of inputs that broadcast to its shape; a CPU tensor of one element may be among them, whose
/// value travels with the launch. Dimensions of size 1 are dropped and those that lie alike in all operands joined;
/// they are ordered by y's strides.
PlannedElements plan_elements(const char* op, const Tensor& y, TensorRefs inputs);
/// Adds an input that is one number, given by its bits.
void add_value(PlannedElements& elements, uint64_t bits, DType dtype);
/// Runs a kernel whose vectors have `width` elements (kVectorWidth of its type): in vectors where all operands allow
/// it.
void run_elements(const char* op, ElementKernel kernel, int width, const PlannedElements& elements, Device device);

/// y = f(inputs), by the kernel for the first input's dtype.
/// @throws NotImplementedError naming op and dtype when there is none
void elementwise(const char* op, const ElementRow& row, Tensor& y, TensorRefs inputs,
                 std::initializer_list<LoopScalar> scalars = {});

/// Launches `blocks` of `threads` (launch.cu).
void launch_elements(const char* op, ElementKernel kernel, const ElementPlan& plan, int64_t blocks, int64_t threads,
                     Device device);

inline LoopScalar real(double value) {
  LoopScalar s;
  s.real = value;
  return s;
}

}  // namespace tandem::kernels::cuda
