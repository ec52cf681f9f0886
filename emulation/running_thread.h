// What a CUDA thread, while it runs, can ask of its block. The words of simt.h and atomics.h are made of these;
// block.cpp defines them. Called by anyone else they throw CudaError.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/emulation/shared_memory.h"
#include "tandem/emulation/source_location.h"
#include "tandem/emulation/vector_types.h"

namespace tandem::emulation {

struct Position {
  uint3 thread{}, block{};
  dim3 block_dim, grid_dim;
  unsigned lane = 0;
};
/// Who runs on this host thread.
extern constinit thread_local Position position;

struct Votes {
  unsigned yes, cast;
};
/// Waits for all threads of the block that have not ended.
Votes barrier(const char* word, bool vote, SourceLocation place);

/// Waits for the lanes of `mask`, then gives what lane `source` brought. Orders no memory.
uint64_t exchange(const char* word, unsigned mask, uint64_t value, int source, SourceLocation place);
/// Waits for the lanes of `mask`, then gives what each of them brought (zero for others), and who they were.
unsigned gather(const char* word, unsigned mask, uint64_t value, uint64_t (&all)[32], SourceLocation place);
/// Waits for the lanes of `mask`, and orders their memory accesses.
void sync_warp(unsigned mask, SourceLocation place);
/// Lets other threads run.
void yield();

void* shared_array(const SharedArray& declaration, size_t bytes);
void* dynamic_shared_array();

enum class FenceScope { block, device };
void fence(FenceScope scope);
/// Around an atomic operation, so that ThreadSanitizer learns what it orders.
void before_atomic(const void* address);
void after_atomic(const void* address);

/// Ends the launch with a CudaError that says who is at fault.
[[noreturn]] void fail(const std::string& problem, SourceLocation place);

}  // namespace tandem::emulation
