// Allocator of page-locked host memory: blocks are reused once the copies that use them are done.
#include "tandem/core/cuda/page_locked.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "tandem/core/cuda/event_pool.h"
#include "tandem/core/poison.h"

namespace tandem {
namespace {

// Base-2 logarithms of the smallest and the largest size class. Size classes are powers of two, because batches come in
// few sizes and a page is the smallest unit that can be locked.
constexpr int kMinSizeLog2 = 9, kMaxSizeLog2 = 47;

int size_class_log2(size_t bytes) { return std::max(kMinSizeLog2, static_cast<int>(std::bit_width(bytes - 1))); }

// Note [No lock while the driver may wait]: to lock or unlock pages, the driver may wait for running GPU work. This may
// be a collective that waits for another rank, which is a thread of this process; and that thread may need the
// allocator's mutex before it reaches the collective. So the mutex is not held during these calls. For the same reason
// the rank's own GPU is made current first: on another rank's GPU, the driver could wait forever for a collective that
// waits for this rank.
int gpu_of_rank() {
  const int own = ThreadContext::current().rank_state().gpu_index;
  return own >= 0 ? own : gpu::current_device();
}
class CachingHostAllocator {
 public:
  /// Allocates a block. Returns null if no memory can be locked.
  void* allocate(size_t bytes) {
    const int log = size_class_log2(bytes);
    if (log > kMaxSizeLog2) return nullptr;
    std::unique_lock lock(mutex_);
    free_finished_blocks();
    if (!free_blocks_[static_cast<size_t>(log)]) {
      auto made = std::make_unique<Block>();
      made->size_log2 = log;
      lock.unlock();  // because the driver may wait: see Note [No lock while the driver may wait]
      const gpu::UnsafeCallsGuard guard;
      const gpu::DeviceGuard current(gpu_of_rank());
      made->data = gpu::allocate_host(size_t(1) << log);
      lock.lock();
      if (!made->data) return nullptr;
      stats_.reserved += int64_t(1) << log;
      Block& added = *blocks_.emplace(made->data, std::move(made)).first->second;
      add_free_block(added);
    }
    Block*& free = free_blocks_[static_cast<size_t>(log)];
    Block& mine = *std::exchange(free, free->next);
    mine.requested_bytes = bytes;
    poison(mine.data, size_t(1) << log);
    unpoison(mine.data, bytes);  // the rest of the block stays poisoned, so that AddressSanitizer detects overruns
    stats_.current += static_cast<int64_t>(bytes);
    stats_.peak = std::max(stats_.peak, stats_.current);
    ++stats_.allocations;
    return mine.data;
  }
  void deallocate(void* data) noexcept {
    const std::lock_guard lock(mutex_);
    Block& mine = *blocks_.at(data);
    stats_.current -= static_cast<int64_t>(mine.requested_bytes);
    mine.stream_uses.record_events();
    mine.next = std::exchange(waiting_blocks_, &mine);
    free_finished_blocks();
  }
  void record_stream(void* data, const cuda::Stream& stream) {
    const std::lock_guard lock(mutex_);
    if (const auto at = blocks_.find(data); at != blocks_.end()) at->second->stream_uses.add_stream(stream);
  }
  bool contains_block(const void* data) {
    const std::lock_guard lock(mutex_);
    return blocks_.contains(const_cast<void*>(data));
  }
  void empty_cache() noexcept {
    if (cuda::is_current_stream_capturing()) return;
    std::unique_lock lock(mutex_);
    Block* waiting = std::exchange(waiting_blocks_, nullptr);
    lock.unlock();
    for (Block* each = waiting; each; each = each->next) each->stream_uses.wait();
    lock.lock();
    while (waiting) {
      Block* const block = std::exchange(waiting, waiting->next);
      block->next = std::exchange(waiting_blocks_, block);
    }
    free_finished_blocks();
    Block* unused = nullptr;
    for (Block*& first : free_blocks_)
      while (first) {
        Block* const block = blocks_.extract(first->data).mapped().release();
        stats_.reserved -= int64_t(1) << block->size_log2;
        first = std::exchange(block->next, std::exchange(unused, block));
      }
    lock.unlock();        // because the driver may wait: see Note [No lock while the driver may wait]
    if (!unused) return;  // nothing to free; without a GPU, the calls below would fail
    const gpu::DeviceGuard current(gpu_of_rank());
    while (unused) {
      const std::unique_ptr<Block> block(std::exchange(unused, unused->next));
      unpoison(block->data, size_t(1) << block->size_log2);
      gpu::release_host(block->data);
    }
  }
  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Block {
    void* data = nullptr;
    int size_log2 = 0;
    size_t requested_bytes = 0;
    cuda::StreamUses stream_uses;
    Block* next = nullptr;  // next block in the list of free blocks of the size class, or in the list of waiting blocks
  };

  /// Frees the waiting blocks whose copies are done. Does nothing on a capturing thread, which must not query events.
  void free_finished_blocks() noexcept {
    if (cuda::is_current_stream_capturing()) return;
    for (Block** at = &waiting_blocks_; *at;) {
      Block& block = **at;
      if (!block.stream_uses.is_done()) {
        at = &block.next;
        continue;
      }
      *at = block.next;
      poison(block.data, size_t(1) << block.size_log2);
      add_free_block(block);
    }
  }
  void add_free_block(Block& block) {
    Block*& free = free_blocks_[static_cast<size_t>(block.size_log2)];
    block.next = std::exchange(free, &block);
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::unique_ptr<Block>> blocks_;
  std::array<Block*, kMaxSizeLog2 + 1> free_blocks_{};
  Block* waiting_blocks_ = nullptr;
  MemoryStats stats_;
};

CachingHostAllocator& host_allocator() {
  static auto& all = *new CachingHostAllocator;  // never destroyed: tensors may be static
  return all;
}

}  // namespace

void* allocate_page_locked(size_t bytes) {
  TANDEM_CHECK(cuda::is_available(),
               "page-locked memory needs a GPU, and none is available: ", gpu::unavailable_reason());
  if (bytes == 0) return nullptr;
  void* data = host_allocator().allocate(bytes);
  if (!data) {
    empty_page_locked_cache();
    data = host_allocator().allocate(bytes);
  }
  if (!data) [[unlikely]] {
    const MemoryStats stats = page_locked_memory_stats();
    TANDEM_CHECK_AS(OutOfMemoryError, false, "allocate_page_locked: cannot allocate ", bytes,
                    " bytes of page-locked memory; ", stats.current, " bytes are in use and ", stats.reserved,
                    " reserved; free pinned tensors, or use ordinary memory");
  }
  return data;
}
void deallocate_page_locked(void* data) noexcept {
  if (data) host_allocator().deallocate(data);
}
void record_page_locked_use(void* data, const cuda::Stream& stream) { host_allocator().record_stream(data, stream); }
bool is_page_locked(const void* data) {
  if (!data || !cuda::is_available()) return false;
  return host_allocator().contains_block(data) || gpu::pointer_info(data).kind == gpu::MemoryKind::page_locked;
}
MemoryStats page_locked_memory_stats() { return host_allocator().stats(); }
void empty_page_locked_cache() noexcept { host_allocator().empty_cache(); }

}  // namespace tandem
