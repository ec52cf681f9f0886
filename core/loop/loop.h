// One prepared call of a CPU kernel over a range: what is run, split over threads, recorded and traced. Plain data
// without std or member functions: the loops, which are compiled once per instruction set, include it.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"
#include "tandem/core/internal.h"
#include "tandem/core/loop/loop_types.h"

namespace tandem {

constexpr int kMaxOperands = 12;  // tensors that one loop reads and writes
constexpr int kMaxScalars = 12;

/// A tensor as a loop sees it: byte offset into the buffer, bytes of all its elements, and byte strides of the loop's
/// (collapsed) dimensions.
struct Operand {
  const Buffer* buffer;
  int64_t offset, bytes;
  int64_t strides[kMaxDims];
};
/// Collapsed dimensions, innermost last. rank >= 1 for elementwise loops.
struct Extents {
  int rank;
  int64_t size[kMaxDims];
};
namespace detail {
/// By the loop's dtype: a 64-bit seed or integer does not fit a double.
union LoopScalar {
  double real;
  int64_t integer;
};
}  // namespace detail

/// What a body reads besides operands and scalars: a struct of its own. Whoever keeps a loop beyond the call that made
/// it keeps a copy.
struct LoopContext {
  const void* data;
  void* (*copy)(const void* data);
  void (*destroy)(void* data);
};

struct Loop;
/// Runs the part [begin, end) of the loop's range. Parts may run on any thread in any order, so what a part writes must
/// depend on nothing that another part writes.
using LoopBody = void (*)(const Loop& loop, int64_t begin, int64_t end);

struct Loop {
  LoopBody body;
  const char* name;
  DType dtype;                     // of the row that was picked
  bool elementwise;                // what stands at a place depends on what is read at that place alone
  int operand_count, write_count;  // what is written first; what is changed is among the others too
  Extents extents;
  LoopScalar scalars[kMaxScalars];
  LoopContext context;             // of nulls where a body needs none
  int64_t scratch;                 // bytes of memory that each part has for itself while it runs: loop_scratch()
  int64_t range, grain;            // the grain depends on sizes only, never on the number of threads
  Operand operands[kMaxOperands];  // last: of a recorded loop there are only operand_count
};

/// The memory that the part which this thread runs has for itself: the loop's `scratch` bytes, aligned to 64.
char* loop_scratch();

/// One operation's bodies by dtype; null where it does not exist.
struct LoopTable {
  LoopBody by_dtype[kDTypeCount];
};

}  // namespace tandem
