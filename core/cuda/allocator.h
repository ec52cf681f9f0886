// Memory of GPUs for tensors: cached, in the order of streams. The names of what can be asked are those of torch.cuda.
#pragma once
#include <cstddef>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/internal.h"

namespace tandem::cuda {

// Note [Memory in stream order]: a block belongs to the stream that was its device's current one when it was taken.
// When it is given back, what is already on that stream may still use it, and what is put there later may have it at
// once: it runs later. So scratch memory may be dropped right after the launch that uses it. Work on any other stream
// must be put after the allocation by an event, as all work between streams, and be announced by record_stream: then
// the block is not given out again before what those streams hold when it is given back is done.

// Note [Private pools]: what a Graph's capture allocates comes from a pool of its own, as replays use it again and
// again: nobody else gets it until the last graph of the pool is gone. What is given back during the capture serves the
// capture's later requests, as in stream order, but nothing is asked of the runtime then that it refuses to a thread
// that captures: not whether other streams are done with a block, nor for memory that it would have to wait for. So
// empty_cache() before the capture helps where memory is short.

/// Uninitialised memory of a GPU for work on its current stream, aligned to 256 bytes; null when bytes == 0.
/// @throws OutOfMemoryError that says what was asked for, and what is held by whom, after emptying the cache did not
/// help
void* allocate(Device device, size_t bytes);
/// Takes back what allocate returned, on any thread. Null is fine.
void deallocate(Device device, void* data) noexcept;
/// Says that work of another stream, of this or another device, uses the block at `data` as well. Memory that is not
/// allocate's is left to its owner.
void record_stream(Device device, void* data, const Stream& stream);

/// A capture into a private pool begins on a device: what it allocates comes from there. @throws Error when the
/// allocator keeps nothing
void begin_private_pool(Device device, uint64_t pool);
/// It is over: what was given back while streams of the capture used it is free.
void end_private_pool(Device device, uint64_t pool) noexcept;
/// Nobody captures into the pool any more, nor replays what was. Its memory goes back to the device when the cache is
/// emptied or the device has no more, each segment once nobody uses it.
void retire_private_pool(Device device, uint64_t pool) noexcept;
/// The pool that memory of allocate belongs to; 0: none.
uint64_t private_pool_of(Device device, void* data);
/// Bytes that a private pool holds from the device.
int64_t private_pool_reserved(Device device, uint64_t pool);

MemoryStats memory_stats(Device device);
void reset_peak_memory_stats(Device device = kCUDA);
/// Bytes in use, as requested; the most that were since the last reset; bytes held from the device, free blocks
/// included.
int64_t memory_allocated(Device device = kCUDA);
int64_t max_memory_allocated(Device device = kCUDA);
int64_t memory_reserved(Device device = kCUDA);
/// Hands the free blocks of all GPUs back to them, after waiting for their work. In a Graph's capture it does nothing.
void empty_cache() noexcept;

}  // namespace tandem::cuda
