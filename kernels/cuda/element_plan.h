// The parameter of every elementwise kernel: the collapsed dimensions and the operands. All these kernels have this one
// parameter, so one function launches any of them. Plain data without std; planner.cpp fills it in.
#pragma once
#include "tandem/core/loop/loop.h"
#include "tandem/kernels/cuda/divider.cuh"

namespace tandem::kernels::cuda {

constexpr int kMaxElementInputs = 3;
constexpr int kElementThreads = 128;       // maximum number of threads in a block
constexpr int kVectors = 2, kSingles = 4;  // items that a thread computes: vectors, or single elements
/// Number of elements in a vector, by compute type.
template <class C> constexpr int kVectorWidth = 4;
template <> inline constexpr int kVectorWidth<double> = 2;

struct ElementOperand {
  char* data;                 // null: every element is `value`
  uint64_t value;             // bits of one element
  int64_t strides[kMaxDims];  // in bytes
  DType dtype;
  uint8_t size;  // bytes per element
};
struct ElementPlan {
  int rank;     // number of collapsed dimensions, at least 1
  bool vector;  // true: an item is a vector, and the last vector may be partial; false: an item is one element
  bool plain;   // only full vectors, and every operand is contiguous float32 or a scalar stored in the plan
  uint32_t items, count;         // number of items and of elements; a launch has fewer than 2^31 elements
  Divider32 dividers[kMaxDims];  // divide by the sizes of the dimensions, in items, innermost first
  int operand_count;
  ElementOperand operands[1 + kMaxElementInputs];  // output first
  LoopScalar scalars[2];
};

using ElementKernel = void (*)(ElementPlan);
/// Kernels of one operation by compute type; null if the operation does not support the type.
struct ElementRow {
  ElementKernel float32, float64, int64, boolean;  // float32 serves the half types too, int64 all integers
};

}  // namespace tandem::kernels::cuda
