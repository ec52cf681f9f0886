// Loop: a prepared call of a CPU kernel over a range, which can be run, split over threads, recorded and traced. Plain
// data without types of the standard library and without member functions, because the loops, which are compiled once
// per instruction set, include this file.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"
#include "tandem/core/internal.h"
#include "tandem/core/loop/loop_types.h"

namespace tandem {

constexpr int kMaxOperands = 12;  // maximum number of tensors that a loop reads and writes
constexpr int kMaxScalars = 12;

/// A tensor operand of a loop: buffer, byte offset in the buffer, size in bytes, and byte strides along the loop's
/// (collapsed) dimensions.
struct Operand {
  const Buffer* buffer;
  int64_t offset, bytes;
  int64_t strides[kMaxDims];
};
/// Sizes of the loop's dimensions after collapsing, innermost last. `rank` is the number of dimensions, at least 1 for
/// elementwise loops.
struct Extents {
  int rank;
  int64_t size[kMaxDims];
};
namespace detail {
/// A number that a loop reads: `real` or `integer`, by the loop's dtype. A double alone could not hold all 64-bit
/// integers and seeds.
union LoopScalar {
  double real;
  int64_t integer;
};
}  // namespace detail

/// Data that the body of a loop reads besides operands and scalars: a struct specific to the loop. Code that keeps a
/// loop after the call that made it must copy the struct.
struct LoopContext {
  const void* data;
  void* (*copy)(const void* data);
  void (*destroy)(void* data);
};

struct Loop;
/// Runs the part [begin, end) of the loop's range. Parts run on any thread in any order, so a part must not read what
/// another part writes.
using LoopBody = void (*)(const Loop& loop, int64_t begin, int64_t end);

struct Loop {
  LoopBody body;
  const char* name;
  DType dtype;       // selects the body
  bool elementwise;  // whether each element written depends only on the elements read at the same index
  // The first write_count operands are written, the others are read. A tensor changed in place is in both groups.
  int operand_count, write_count;
  Extents extents;
  LoopScalar scalars[kMaxScalars];
  LoopContext context;  // further data for the loop body; its pointers are null if the body needs none
  int64_t scratch;      // bytes of scratch memory for each part of the range while it runs: see loop_scratch()
  // range: number of indices that the loop runs over. grain: number of indices in a chunk, which one thread runs. The
  // grain depends only on sizes, never on the number of threads.
  int64_t range, grain;
  Operand operands[kMaxOperands];  // last member, so that the copy in a RecordedLoop can omit the unused operands
};

/// Returns the scratch memory of the part of a loop that this thread is running: Loop::scratch bytes, aligned to 64
/// bytes.
char* loop_scratch();

/// Loop bodies of one operation, indexed by dtype. An entry is null if the operation does not exist for the dtype.
struct LoopTable {
  LoopBody by_dtype[kDTypeCount];
};

}  // namespace tandem
