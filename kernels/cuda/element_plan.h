// What an elementwise kernel is told: the collapsed dimensions and its operands. Plain data without std, one parameter
// for all of them, so that one function launches any. Made by planner.cpp.
#pragma once
#include "tandem/core/loop/loop.h"
#include "tandem/kernels/cuda/divider.cuh"

namespace tandem::kernels::cuda {

constexpr int kMaxElementInputs = 3;
constexpr int kElementThreads = 128;       // of a block, at most
constexpr int kVectors = 2, kSingles = 4;  // items of a thread, by whether they are vectors
/// Elements of a vector, by the type computed in.
template <class C> constexpr int kVectorWidth = 4;
template <> inline constexpr int kVectorWidth<double> = 2;

struct ElementOperand {
  char* data;                 // null: `value` stands for all elements
  uint64_t value;             // the bits of one element
  int64_t strides[kMaxDims];  // bytes
  DType dtype;
  uint8_t size;  // bytes of an element
};
struct ElementPlan {
  int rank;                      // of the collapsed dimensions, at least 1
  bool vector;                   // items are vectors, of which the last may have fewer elements; otherwise elements
  bool plain;                    // whole vectors, of float32 without gaps or of one number that travels with the launch
  uint32_t items, count;         // items, elements: a launch has below 2^31 of them
  Divider32 dividers[kMaxDims];  // their divisors are the sizes, innermost first, in items
  int operand_count;
  ElementOperand operands[1 + kMaxElementInputs];  // the output first
  LoopScalar scalars[2];
};

using ElementKernel = void (*)(ElementPlan);
/// An operation's kernels by the type that it computes in; null where there is none.
struct ElementRow {
  ElementKernel float32, float64, int64, boolean;  // for float32 and the half types, float64, all integers, bool
};

}  // namespace tandem::kernels::cuda
