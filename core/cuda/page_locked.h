// Page-locked host memory for tensors ("pinned" in PyTorch's names), which GPUs copy from and to without staging while
// the host goes on. Cached: to lock pages takes longer than most copies.
#pragma once
#include <cstddef>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/cuda.h"

namespace tandem {

/// Uninitialised page-locked memory, aligned to 64 bytes at least; null when bytes == 0.
/// @throws Error when there is no GPU, OutOfMemoryError when no pages can be locked
void* allocate_page_locked(size_t bytes);
/// Takes it back, on any thread: it is not given out again before the copies that were announced are done.
void deallocate_page_locked(void* data) noexcept;
/// Says that work on `stream` reads or writes the block at `data`. Memory that is not allocate_page_locked's is left to
/// its owner.
void record_page_locked(void* data, const cuda::Stream& stream);
/// Whether an address lies in page-locked memory, ours or another's.
bool is_page_locked(const void* data);

/// Of all page-locked memory that tensors had.
MemoryStats page_locked_memory_stats();
/// Unlocks the free blocks and hands them back to the system, after waiting for copies.
void empty_page_locked_cache() noexcept;

}  // namespace tandem
