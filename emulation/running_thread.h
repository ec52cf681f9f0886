// Functions that a running CUDA thread calls on its block (defined in block.cpp). simt.h and atomics.h implement CUDA's
// built-ins by these functions. They throw CudaError if called outside a kernel.
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
/// Position of the CUDA thread that runs on this host thread.
extern constinit thread_local Position position;

struct Votes {
  unsigned true_count, vote_count;
};
/// Waits until all threads of the block that have not ended have called sync_threads(), and returns their votes.
/// `function_name` is the name of the CUDA function, for messages.
Votes sync_threads(const char* function_name, bool vote, SourceLocation location);

/// Waits for the lanes of `mask`, then returns the value that lane `source` passed. Does not order memory accesses.
uint64_t exchange_lanes(const char* function_name, unsigned mask, uint64_t value, int source, SourceLocation location);
/// Waits for the lanes of `mask`, then writes their values to `all` (0 for other lanes), and returns the mask of the
/// lanes that took part.
unsigned gather_lanes(const char* function_name, unsigned mask, uint64_t value, uint64_t (&all)[32],
                      SourceLocation location);
/// Waits for all 32 lanes of the warp. The lane that arrives last calls run() with the values of all lanes, while the
/// other lanes wait. Does not order memory accesses. @throws CudaError if a lane has ended or does not exist
void run_for_warp(const char* function_name, uint64_t value, void (*run)(const uint64_t (&values)[32]),
                  SourceLocation location);
/// Waits for the lanes of `mask`, and orders their memory accesses.
void sync_warp(unsigned mask, SourceLocation location);
/// Lets other threads of the block run.
void yield();

void* shared_array(const SharedArray& declaration, size_t bytes);
void* dynamic_shared_array();
/// Returns whether all these bytes are in one shared array of the running block.
bool is_shared(const void* address, size_t bytes);

/// Copy of 16 bytes from global to shared memory that runs in the background until the thread waits for it. If `from`
/// is null, it writes zeros.
struct AsyncCopy {
  void* to;
  const void* from;
};
/// Adds a copy to the running thread's queue.
void push_copy(const AsyncCopy& copy);
/// Removes the oldest copy from the running thread's queue. Returns false if the queue is empty.
bool pop_copy(AsyncCopy& copy);

enum class FenceScope { block, device };
void fence(FenceScope scope);
/// Must be called before and after each atomic operation, to tell ThreadSanitizer which accesses the operation orders.
void before_atomic(const void* address);
void after_atomic(const void* address);

/// Ends the launch with a CudaError that names the kernel, block and thread.
[[noreturn]] void fail(const std::string& problem, SourceLocation location);

}  // namespace tandem::emulation
