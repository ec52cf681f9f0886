// One prepared call of a CPU kernel over a range: what is run, split over threads, recorded and traced. Plain data
// without std or member functions: the loops, which are compiled once per instruction set, include it.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem {

enum class DType : uint8_t { float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, boolean };
constexpr int kDTypeCount = 10;

constexpr int kMaxDims = 8;      // of a tensor, and so of a loop
constexpr int kMaxOperands = 8;  // tensors that one loop reads and writes
constexpr int kMaxScalars = 12;

/// Where an operand's bytes are. A recorded step may point it elsewhere; a loop must not keep `data`.
struct Buffer {
  char* data;
};
/// A tensor as a loop sees it: byte offset into the buffer and byte strides of the loop's (collapsed) dimensions.
struct Operand {
  const Buffer* buffer;
  int64_t offset;
  int64_t strides[kMaxDims];
};
/// Collapsed dimensions, innermost last. rank >= 1 for elementwise loops.
struct Extents {
  int rank;
  int64_t size[kMaxDims];
};
/// By the loop's dtype: a 64-bit seed or integer does not fit a double.
union LoopScalar {
  double real;
  int64_t integer;
};

struct Loop;
/// Runs the part [begin, end) of the loop's range. Parts may run on any thread in any order, so what a part writes must
/// depend on nothing that another part writes.
using LoopBody = void (*)(const Loop& loop, int64_t begin, int64_t end);

struct Loop {
  LoopBody body;
  const char* name;
  DType dtype;                     // of the row that was picked
  int operand_count, write_count;  // outputs first
  Operand operands[kMaxOperands];
  Extents extents;
  LoopScalar scalars[kMaxScalars];
  const void* context;   // of a library call: something that lives as long as the process, or null
  int64_t range, grain;  // the grain depends on sizes only, never on the number of threads
};

/// One operation's bodies by dtype; null where it does not exist.
struct LoopTable {
  LoopBody by_dtype[kDTypeCount];
};

}  // namespace tandem
