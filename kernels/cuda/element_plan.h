// The parameter of every elementwise kernel: the collapsed dimensions and the operands. Because all of these kernels
// have the same parameter type, one function can launch any of them. The type is plain data without std types;
// planner.cpp fills it in.
#pragma once
#include <stddef.h>

#include "tandem/core/loop/loop.h"
#include "tandem/kernels/cuda/divider.cuh"

namespace tandem::kernels::cuda {

constexpr int kMaxElementInputs = 3;
constexpr int kElementThreads = 128;  // maximum number of threads in a block
// Number of items that a thread computes. An item is a vector (kVectorsPerThread) or a single element
// (kScalarsPerThread).
constexpr int kVectorsPerThread = 2, kScalarsPerThread = 4;
/// Number of elements in a vector, for each compute type C.
template <class C> constexpr int kVectorWidth = 4;
template <> inline constexpr int kVectorWidth<double> = 2;
/// Number of elements per thread in a plain plan, and per vector of such a plan if the largest elements of its operands
/// have `size` bytes. The vector fills one load or store of 16 bytes.
constexpr int kPlainElements = 8;
constexpr int plain_width(size_t size) { return size == 1 ? 8 : 16 / int(size); }

struct ElementOperand {
  char* data;                 // null if the operand is a scalar, so that every element is `value`
  uint64_t value;             // bits of one element
  int64_t strides[kMaxDims];  // in bytes
  DType dtype;
  uint8_t size;  // bytes per element
};
struct ElementPlan {
  int rank;            // number of dimensions after collapsing, at least 1
  bool is_vectorized;  // whether an item is a vector (the last one may be partial) or one element
  // Number of vectors per thread if the plan is plain: every operand is contiguous or a scalar that the plan holds, and
  // all vectors are full and aligned. The vectors have plain_width() elements. Otherwise 0.
  uint8_t plain_vectors_per_thread;
  uint32_t items, count;         // number of items and of elements, fewer than 2^31
  Divider32 dividers[kMaxDims];  // sizes of the dimensions in items, innermost first; each divides an item index
  int operand_count;
  ElementOperand operands[1 + kMaxElementInputs];  // output first
  LoopScalar scalars[2];
};

using ElementKernel = void (*)(ElementPlan);
/// Kernels of one operation by compute type. A kernel is null if the operation does not support the type.
struct ElementKernelTable {
  ElementKernel float32, float64, int64, boolean;  // float32 also serves the half types, int64 all integers
};

}  // namespace tandem::kernels::cuda
