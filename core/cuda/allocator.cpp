// Note [The caching allocator]: memory comes from the device in segments, each of which belongs to one stream and is
// divided into blocks. A request takes the smallest free block of its stream that fits; the rest becomes a block of its
// own. A freed block is merged with its free neighbours. Small requests have their own segments, so that a long-lived
// bias does not keep a large segment from becoming whole again. If the stream has no block, it takes a wholly free
// segment of another stream if the work on that stream is done; else memory is requested from the device. If the device
// has none left, this stream waits for a segment of another stream, and finally all free segments are returned to the
// device.
#include "tandem/core/cuda/allocator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "tandem/core/cuda/capture.h"
#include "tandem/core/cuda/memory_report.h"
#include "tandem/core/poison.h"
#include "tandem/core/trace/memory_trace.h"

namespace tandem::cuda {
namespace {

constexpr size_t kMaxBlockBytes = size_t(1) << 47;

// Lock of captured_streams_mutex(). The results of is_stream_capturing() and is_stream_idle() are valid only while it
// is held.
using CapturesLock = std::shared_lock<std::shared_mutex>;

bool is_stream_capturing(gpu::StreamHandle stream) noexcept {
  try {
    return gpu::is_capturing(stream);
  } catch (const CudaError&) {
    return false;  // the device failed: nothing runs on it any more
  }
}
/// Whether all work of a stream is done. False for a capturing stream, which must not be queried.
bool is_stream_idle(gpu::StreamHandle stream) noexcept {
  try {
    return !gpu::is_capturing(stream) && gpu::is_done(stream);
  } catch (const CudaError&) {
    return true;  // the device failed: nothing runs on it any more
  }
}

/// Whether to poison freed memory: under AddressSanitizer with an emulated device, whose memory is the host's.
bool is_poisoning_enabled() {
  static const bool emulated = std::strcmp(gpu::implementation(), "emulated") == 0;
  return TANDEM_ASAN && emulated;
}
/// Marks memory as addressable or poisoned for AddressSanitizer, in stream order. Memory of private pools (for graph
/// captures) is not marked, because the capture would include the marking.
void set_addressable(const Segment& segment, char* data, size_t bytes, bool is_addressable) noexcept {
  if (!is_poisoning_enabled() || segment.pool_id) return;
  const gpu::StreamHandle stream = segment.stream;
  const gpu::UnsafeCallsGuard guard;
  const CapturesLock held(captured_streams_mutex());
  if (is_stream_capturing(stream))
    return;  // otherwise the capture would include the marking and repeat it at each replay
  if (is_stream_idle(stream)) return (is_addressable ? unpoison : poison)(data, bytes);
  struct MarkedRange {
    char* data;
    size_t bytes;
    bool is_addressable;
  };
  try {
    gpu::call_on_host(
        stream,
        [](void* context) {
          const std::unique_ptr<MarkedRange> range(static_cast<MarkedRange*>(context));
          (range->is_addressable ? unpoison : poison)(range->data, range->bytes);
        },
        new MarkedRange{data, bytes, is_addressable});
  } catch (const std::exception&) {  // errors are ignored: the device has failed, and later work reports it
  }
}

/// Memory of one GPU.
class DeviceCachingAllocator {
 public:
  void* allocate(Device device, size_t bytes);
  void deallocate(Device device, void* data) noexcept;
  void record_stream(void* data, const Stream& stream);
  void empty_cache(int device) noexcept;
  void begin_allocate_to_pool(uint64_t pool_id);
  void end_allocate_to_pool(uint64_t pool_id) noexcept;
  void release_pool(uint64_t pool_id) noexcept;
  uint64_t pool_of(void* data);
  int64_t reserved_bytes(uint64_t pool_id);
  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak_stats() {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.current;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  Block* find_block_of_other_stream(int device, gpu::StreamHandle stream, size_t bytes, bool wait);
  Block* allocate_segment(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes, uint64_t pool_id = 0);
  Block* reclaim_and_allocate(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes);
  Block* allocate_from_private_pool(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes, uint64_t pool_id);
  void free_block(Block* block);
  bool is_capturing_to_pool(uint64_t pool_id) const {
    return std::find(capturing_pools_.begin(), capturing_pools_.end(), pool_id) != capturing_pools_.end();
  }
  void set_pool_released(uint64_t pool_id, bool is_released) noexcept;
  void enqueue_waiting_block(Block* block) noexcept;
  void free_finished_blocks(bool all) noexcept;
  void synchronize_and_free_blocks(Lock& lock, int device);
  void release_cached_blocks(Lock& lock, int device);

  std::mutex mutex_;
  BlockPool blocks_;
  // Linked list of waiting blocks (freed, but still used by other streams), in the order in which they were freed.
  Block *first_waiting_block_ = nullptr, *last_waiting_block_ = nullptr;
  std::vector<uint64_t> capturing_pools_;  // numbers of the private pools into which captures are under way
  // Linked list of blocks that were freed during a capture while several streams of the capture used them.
  Block* first_waiting_private_block_ = nullptr;
  MemoryStats stats_;
};

void DeviceCachingAllocator::free_block(Block* block) {
  const Segment& segment = *block->segment;
  // On a capturing stream, the call of gpu::discard() becomes part of the capture and is repeated at each replay. This
  // is right for memory of the capture's own pool, and wrong for other memory.
  {
    CapturesLock held(captured_streams_mutex(), std::defer_lock);
    if (!capturing_pools_.empty()) held.lock();
    const bool at_replays = held && is_stream_capturing(segment.stream);
    if (segment.pool_id ? at_replays && is_capturing_to_pool(segment.pool_id) : !at_replays)
      gpu::discard(block->data, block->requested_bytes, segment.stream);
  }
  set_addressable(segment, block->data, block->bytes, false);
  blocks_.free_block(block);
}

void DeviceCachingAllocator::enqueue_waiting_block(Block* block) noexcept {
  block->next_waiting = nullptr;
  (first_waiting_block_ ? last_waiting_block_->next_waiting : first_waiting_block_) = block;
  last_waiting_block_ = block;
}
/// Frees the waiting blocks that no other stream uses any more. Unless `all`, stops at the first block still in use.
void DeviceCachingAllocator::free_finished_blocks(bool all) noexcept {
  Block* before = nullptr;
  for (Block* block = first_waiting_block_; block;) {
    Block* const next = block->next_waiting;
    if (block->stream_uses.is_done()) {
      (before ? before->next_waiting : first_waiting_block_) = next;
      if (!next) last_waiting_block_ = before;
      free_block(block);
    } else if (all) {
      before = block;
    } else {
      return;
    }
    block = next;
  }
}

/// Returns an event that follows all work of the segment's stream. The first call after the segment became free records
/// it.
gpu::EventHandle record_last_use_event(Segment& segment, int device) {
  if (!segment.last_use_event) {
    PooledEvent now(device);
    gpu::record_event(now.handle(), segment.stream);
    segment.last_use_event.emplace(std::move(now));
  }
  return segment.last_use_event->handle();
}

/// Takes over the smallest suitable free segment of another stream, or returns null. If `wait` is false, considers only
/// segments whose stream is done with them. If `wait` is true, considers all, and `stream` waits for the work of the
/// other stream.
Block* DeviceCachingAllocator::find_block_of_other_stream(int device, gpu::StreamHandle stream, size_t bytes,
                                                          bool wait) {
  // Unless `wait`, skips segments that are much larger than needed, so that they remain for larger requests.
  const size_t max_bytes = wait ? kMaxBlockBytes : 2 * segment_bytes(bytes);
  Block* best = nullptr;
  const CapturesLock held(captured_streams_mutex());
  for (Block* const each : blocks_.free_blocks(bytes)) {
    Segment& segment = *each->segment;
    if (segment.stream == stream || !each->is_whole_segment() || each->bytes < bytes || each->bytes > max_bytes)
      continue;
    if (segment.pool_id || (best && best->bytes <= each->bytes)) continue;
    if (is_stream_capturing(segment.stream)) continue;
    if (!wait && !is_stream_idle(segment.stream) && !gpu::is_done(record_last_use_event(segment, device))) continue;
    best = each;
  }
  if (!best) return nullptr;
  if (wait) gpu::wait_event(stream, record_last_use_event(*best->segment, device));
  best->segment->last_use_event.reset();
  blocks_.assign_to_stream(best, stream);
  return best;
}

/// Allocates a segment and returns its block; null if the device has no memory for it.
Block* DeviceCachingAllocator::allocate_segment(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes,
                                                uint64_t pool_id) {
  auto segment = std::make_unique<Segment>(
      Segment{nullptr, segment_bytes(bytes), bytes <= kMaxSmallRequestBytes, stream, {}, pool_id, false});
  lock.unlock();  // the lock is released because gpu::allocate() may take long
  segment->data = static_cast<char*>(gpu::allocate(device, segment->bytes));
  if (!segment->data && segment->bytes > min_segment_bytes(bytes)) {
    segment->bytes = min_segment_bytes(bytes);
    segment->data = static_cast<char*>(gpu::allocate(device, segment->bytes));
  }
  lock.lock();
  if (!segment->data) return nullptr;
  stats_.reserved += static_cast<int64_t>(segment->bytes);
  set_addressable(*segment, segment->data, segment->bytes, false);
  return blocks_.add_segment(std::move(segment));
}

/// Called when the device has no more memory: takes a segment of another stream, or returns free segments to the device
/// and allocates again.
Block* DeviceCachingAllocator::reclaim_and_allocate(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes) {
  if (Block* const waited = find_block_of_other_stream(device, stream, bytes, /*wait=*/true)) return waited;
  synchronize_and_free_blocks(lock, device);
  if (Block* const found = blocks_.find_free_block(stream, bytes)) return found;
  if (Block* const found = find_block_of_other_stream(device, stream, bytes, /*wait=*/true)) return found;
  release_cached_blocks(lock, device);
  return allocate_segment(lock, device, stream, bytes);
}

/// Allocates a block for a capture, from the capture's pool or else from the device. Does not make room on a full
/// device, because releasing memory may wait. See Note [Private pools].
Block* DeviceCachingAllocator::allocate_from_private_pool(Lock& lock, int device, gpu::StreamHandle stream,
                                                          size_t bytes, uint64_t pool_id) {
  if (Block* const found = blocks_.find_free_block(stream, bytes, pool_id)) return found;
  const gpu::UnsafeCallsGuard guard;
  return allocate_segment(lock, device, stream, bytes, pool_id);
}

/// Waits for the streams that own memory, and for streams, also of other devices, that still use freed blocks. Does not
/// synchronize the whole device, because that is forbidden while any of its streams is capturing, on any thread.
void DeviceCachingAllocator::synchronize_and_free_blocks(Lock& lock, int device) {
  std::set<gpu::StreamHandle> streams;
  blocks_.for_each_block([&](const Block& block) { streams.insert(block.segment->stream); });
  lock.unlock();
  for (const gpu::StreamHandle stream : streams) {
    const PooledEvent now(device);
    {
      const CapturesLock held(captured_streams_mutex());
      if (is_stream_capturing(stream)) continue;
      gpu::record_event(now.handle(), stream);
    }
    // waits for the event, not for the stream, because the stream may be capturing by now
    gpu::synchronize_event(now.handle());
  }
  lock.lock();
  Block* waiting = std::exchange(first_waiting_block_, nullptr);
  lock.unlock();
  for (Block* each = waiting; each; each = each->next_waiting) each->stream_uses.wait();
  lock.lock();
  while (waiting) enqueue_waiting_block(std::exchange(waiting, waiting->next_waiting));
  free_finished_blocks(/*all=*/true);
}

/// Returns to the device the segments that are wholly free and whose streams are idle.
void DeviceCachingAllocator::release_cached_blocks(Lock& lock, int device) {
  std::vector<Block*> whole;
  CapturesLock held(captured_streams_mutex());
  for (const size_t kind : {kMaxSmallRequestBytes, kMaxSmallRequestBytes + 1})
    for (Block* const block : blocks_.free_blocks(kind))
      if (const Segment& segment = *block->segment;
          block->is_whole_segment() && (segment.pool_id ? segment.is_pool_released : is_stream_idle(segment.stream)))
        // A segment of a released pool is returned even if its stream is not idle, because gpu::release() waits for the
        // device.
        whole.push_back(block);
  held.unlock();
  std::vector<std::unique_ptr<Segment>> segments;
  segments.reserve(whole.size());
  for (Block* const block : whole) {
    if (is_poisoning_enabled()) unpoison(block->data, block->bytes);
    stats_.reserved -= static_cast<int64_t>(block->bytes);
    segments.push_back(blocks_.remove_segment(block));
  }
  lock.unlock();
  for (const auto& each : segments) gpu::release(device, each->data);
  lock.lock();
}

void* DeviceCachingAllocator::allocate(Device device, size_t bytes) {
  const gpu::StreamHandle stream = current_stream(device).handle();
  const int index = device.index();
  const size_t wanted = bytes <= kMaxBlockBytes ? round_to_block_bytes(bytes) : 0;
  const Capture* const capture = current_capture();
  if (capture) capture->before_allocation();
  Lock lock(mutex_);
  Block* block = nullptr;
  if (wanted && capture) {
    block = allocate_from_private_pool(lock, index, stream, wanted, capture->pool_id());
  } else if (wanted) {
    free_finished_blocks(/*all=*/false);
    block = blocks_.find_free_block(stream, wanted);
    if (!block && first_waiting_block_)
      free_finished_blocks(/*all=*/true), block = blocks_.find_free_block(stream, wanted);
    if (!block) block = find_block_of_other_stream(index, stream, wanted, /*wait=*/false);
    if (!block) block = allocate_segment(lock, index, stream, wanted);
    if (!block) block = reclaim_and_allocate(lock, index, stream, wanted);
  }
  TANDEM_CHECK_AS(OutOfMemoryError, block, "allocate: ", out_of_memory_report(device, stream, bytes, blocks_, stats_));
  blocks_.allocate_block(block, wanted);
  block->requested_bytes = bytes;
  // The rest of the block stays poisoned, so that AddressSanitizer detects overruns.
  set_addressable(*block->segment, block->data, bytes, true);
  stats_.current += static_cast<int64_t>(bytes);
  stats_.peak = std::max(stats_.peak, stats_.current);
  ++stats_.allocations;
  if (is_memory_trace_enabled()) [[unlikely]]
    trace_memory(device, block->data, static_cast<int64_t>(bytes));
  return block->data;
}

void DeviceCachingAllocator::deallocate(Device device, void* data) noexcept {
  const std::lock_guard lock(mutex_);
  Block* const block = blocks_.at(data);
  stats_.current -= static_cast<int64_t>(block->requested_bytes);
  if (is_memory_trace_enabled()) [[unlikely]]
    trace_memory(device, data, -static_cast<int64_t>(block->requested_bytes));
  const uint64_t pool_id = block->segment->pool_id;
  const bool captured = pool_id && is_capturing_to_pool(pool_id);
  // After the capture into a private pool has ended, forgets which other streams use a block of the pool. This is safe,
  // because no other allocation gets the block while graphs of the pool exist.
  if (pool_id && !captured) block->stream_uses.clear();
  if (block->stream_uses.empty()) return free_block(block);
  block->state = Block::State::waiting;
  if (captured) {
    block->next_waiting = std::exchange(first_waiting_private_block_, block);
  } else {
    block->stream_uses.record_events();
    enqueue_waiting_block(block);
  }
}
void DeviceCachingAllocator::begin_allocate_to_pool(uint64_t pool_id) {
  const std::lock_guard lock(mutex_);
  capturing_pools_.push_back(pool_id);
  set_pool_released(pool_id, false);  // a capture may use the ID of an earlier pool that was marked as released
}
void DeviceCachingAllocator::end_allocate_to_pool(uint64_t pool_id) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto at = std::find(capturing_pools_.begin(), capturing_pools_.end(), pool_id);
      at != capturing_pools_.end())
    capturing_pools_.erase(at);
  for (Block** at = &first_waiting_private_block_; *at;) {
    Block* const block = *at;
    if (block->segment->pool_id != pool_id) {
      at = &block->next_waiting;
      continue;
    }
    *at = block->next_waiting;
    block->stream_uses.clear();
    free_block(block);
  }
}
void DeviceCachingAllocator::release_pool(uint64_t pool_id) noexcept {
  const std::lock_guard lock(mutex_);
  set_pool_released(pool_id, true);
}
void DeviceCachingAllocator::set_pool_released(uint64_t pool_id, bool is_released) noexcept {
  blocks_.for_each_block([&](const Block& block) {
    if (block.segment->pool_id == pool_id) block.segment->is_pool_released = is_released;
  });
}
uint64_t DeviceCachingAllocator::pool_of(void* data) {
  const std::lock_guard lock(mutex_);
  const Block* const block = blocks_.at(data);
  return block ? block->segment->pool_id : 0;
}
int64_t DeviceCachingAllocator::reserved_bytes(uint64_t pool_id) {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  blocks_.for_each_block([&](const Block& block) {
    if (block.segment->pool_id == pool_id) bytes += static_cast<int64_t>(block.bytes);
  });
  return bytes;
}

void DeviceCachingAllocator::record_stream(void* data, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  Block* const block = blocks_.at(data);
  if (block && block->segment->stream != stream.handle()) block->stream_uses.add_stream(stream);
}

void DeviceCachingAllocator::empty_cache(int device) noexcept {
  Lock lock(mutex_);
  if (blocks_.empty()) return;
  try {
    synchronize_and_free_blocks(lock, device);
    release_cached_blocks(lock, device);
  } catch (const std::exception&) {  // errors are ignored: memory of a failed device cannot be returned
  }
}

/// Whether memory is cached. With TANDEM_NO_CUDA_MEMORY_CACHING=1 each tensor has its own allocation, for tools that
/// track only allocations of the runtime.
bool is_caching_enabled() {
  static const bool off = [] {
    const char* const text = std::getenv("TANDEM_NO_CUDA_MEMORY_CACHING");
    return text && *text && *text != '0';
  }();
  return !off;
}
DeviceCachingAllocator& allocator_of(Device device) {
  static auto& all = *new std::array<DeviceCachingAllocator, kMaxDevices>();  // never destroyed: tensors may be static
  return all[static_cast<size_t>(device.index())];
}
DeviceCachingAllocator& checked_allocator_of(Device device, const char* op) {
  TANDEM_CHECK(device.is_cuda(), op, ": got ", device, "; accepted: a CUDA device");
  check_device_exists(device);
  return allocator_of(device);
}

}  // namespace

void* allocate(Device device, size_t bytes) {
  if (bytes == 0) return nullptr;
  if (is_caching_enabled()) return allocator_of(device).allocate(device, bytes);
  void* const data = gpu::allocate(device.index(), bytes);
  TANDEM_CHECK_AS(OutOfMemoryError, data, "allocate: CUDA out of memory. Tried to allocate ", bytes, " bytes on ",
                  device);
  return data;
}
void deallocate(Device device, void* data) noexcept {
  if (!data) return;
  if (is_caching_enabled())
    allocator_of(device).deallocate(device, data);
  else
    gpu::release(device.index(), data);  // waits for the device
}
void record_stream(Device device, void* data, const Stream& stream) {
  allocator_of(device).record_stream(data, stream);
}

void begin_allocate_to_private_pool(Device device, uint64_t pool_id) {
  TANDEM_CHECK(is_caching_enabled(), "Graph: work on ", device,
               " cannot be captured with TANDEM_NO_CUDA_MEMORY_CACHING=1, because replays need cached memory; unset "
               "the variable");
  allocator_of(device).begin_allocate_to_pool(pool_id);
}
void end_allocate_to_private_pool(Device device, uint64_t pool_id) noexcept {
  allocator_of(device).end_allocate_to_pool(pool_id);
}
void release_private_pool(Device device, uint64_t pool_id) noexcept { allocator_of(device).release_pool(pool_id); }
uint64_t private_pool_of(Device device, void* data) { return allocator_of(device).pool_of(data); }
int64_t private_pool_reserved_bytes(Device device, uint64_t pool_id) {
  return allocator_of(device).reserved_bytes(pool_id);
}

MemoryStats memory_stats(Device device) { return checked_allocator_of(device, "memory_stats").stats(); }
void reset_peak_memory_stats(Device device) {
  checked_allocator_of(device, "reset_peak_memory_stats").reset_peak_stats();
}
int64_t memory_allocated(Device device) { return cuda::memory_stats(device).current; }
int64_t max_memory_allocated(Device device) { return cuda::memory_stats(device).peak; }
int64_t memory_reserved(Device device) { return cuda::memory_stats(device).reserved; }
void empty_cache() noexcept {
  if (is_current_stream_capturing()) return;  // a capturing thread must not query whether work is done
  for (int i = 0; i < std::min(gpu::device_count(), kMaxDevices); ++i) allocator_of(Device(kCUDA, i)).empty_cache(i);
}

}  // namespace tandem::cuda
