// Page-locked ("pinned") host memory for tensors, which GPUs copy from and to asynchronously, without staging. Cached,
// because locking pages takes longer than most copies.
#pragma once
#include <cstddef>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/cuda.h"

namespace tandem {

/// Allocates uninitialised page-locked memory, aligned to at least 64 bytes; null if bytes == 0.
/// @throws Error if there is no GPU, OutOfMemoryError if no pages can be locked
void* allocate_page_locked(size_t bytes);
/// Frees page-locked memory, on any thread. It is reused only after the copies announced by record_page_locked_use()
/// are done.
void deallocate_page_locked(void* data) noexcept;
/// Announces that work on `stream` reads or writes the block at `data`. Ignores memory that is not from
/// allocate_page_locked().
void record_page_locked_use(void* data, const cuda::Stream& stream);
/// Whether an address is in page-locked memory, from any allocator.
bool is_page_locked(const void* data);

/// Statistics of all page-locked memory of tensors.
MemoryStats page_locked_memory_stats();
/// Waits for copies, then unlocks the free blocks and returns them to the system.
void empty_page_locked_cache() noexcept;

}  // namespace tandem
