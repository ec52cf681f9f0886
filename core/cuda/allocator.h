// Caching allocator for GPU memory, in stream order. Its statistics have the names of torch.cuda.
#pragma once
#include <cstddef>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/internal.h"

namespace tandem::cuda {

// Note [Memory in stream order]: a block belongs to the stream that was current on its device when the block was
// allocated. After the block is freed, work queued earlier on that stream may still use it. Later work on the same
// stream may get the block at once, because it runs later. So scratch memory may be freed right after the launch that
// uses it. Work on another stream must be ordered after the allocation by an event, as all work across streams, and be
// announced by record_stream(). After the block is freed, it is reused only when the work that these streams hold at
// that time is done.

// Note [Private pools]: allocations during a Graph's capture come from a private pool, because replays use the memory
// again and again. Nothing else uses the pool until the last graph that uses it is gone. Blocks freed during the
// capture serve later allocations of the capture, in stream order. But the runtime forbids some calls to a capturing
// thread: it cannot ask whether other streams are done with a block, nor release memory to make room. So if memory is
// short, call empty_cache() before the capture.

/// Allocates uninitialised GPU memory for work on the current stream, aligned to 256 bytes; null if bytes == 0.
/// @throws OutOfMemoryError that lists the request and the memory held, if emptying the cache did not help
void* allocate(Device device, size_t bytes);
/// Frees memory from allocate(), on any thread. Null is allowed.
void deallocate(Device device, void* data) noexcept;
/// Announces that work on another stream, of this or another device, also uses the block at `data`. Ignores memory that
/// is not from allocate().
void record_stream(Device device, void* data, const Stream& stream);

/// Starts a capture into a private pool on a device: the capture's allocations come from the pool. @throws Error if
/// caching is off (TANDEM_NO_CUDA_MEMORY_CACHING)
void begin_allocate_to_private_pool(Device device, uint64_t pool);
/// Ends the capture: blocks that were freed while several streams of the capture used them become free.
void end_allocate_to_private_pool(Device device, uint64_t pool) noexcept;
/// Declares that nothing captures into the pool or replays its graphs any more. Each segment returns to the device when
/// it is wholly free and the cache is emptied or the device runs out of memory.
void release_private_pool(Device device, uint64_t pool) noexcept;
/// Returns the number of the private pool that memory from allocate() belongs to; 0 if it belongs to none.
uint64_t private_pool_of(Device device, void* data);
/// Bytes of the device's memory that a private pool holds.
int64_t private_pool_reserved_bytes(Device device, uint64_t pool);

MemoryStats memory_stats(Device device);
void reset_peak_memory_stats(Device device = kCUDA);
/// memory_allocated(): bytes in use, as requested. max_memory_allocated(): maximum of memory_allocated() since the last
/// reset. memory_reserved(): bytes obtained from the device, including free blocks.
int64_t memory_allocated(Device device = kCUDA);
int64_t max_memory_allocated(Device device = kCUDA);
int64_t memory_reserved(Device device = kCUDA);
/// Returns free blocks of all GPUs to the devices, after waiting for their work. Does nothing during a Graph's capture.
void empty_cache() noexcept;

}  // namespace tandem::cuda
