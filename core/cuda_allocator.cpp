// Note [The caching allocator]: memory comes from the device in segments, each the property of one stream, and is cut
// into blocks. A request takes the smallest free block of its stream that fits, and leaves the rest behind as a block
// of its own; a block that is given back joins its free neighbours. Small requests have segments of their own, so that
// a long-lived bias does not keep a large segment from being whole again. Where the stream has no block, a whole free
// segment of another stream serves if that one's work on it is done; then the device is asked; and when it has no more,
// this stream waits for another's segment, then everything free is handed back.
#include "tandem/core/cuda_allocator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <unordered_map>

#include "tandem/core/event_pool.h"
#include "tandem/core/poison.h"

namespace tandem::cuda {
namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr size_t kSmallRequest = kMiB, kSmallSegment = 2 * kMiB;        // at most; of requests at most so large
constexpr size_t kLargeRequest = 10 * kMiB, kLargeSegment = 20 * kMiB;  // larger ones get a segment of their own
constexpr size_t kSmallGrain = 512, kLargeGrain = 128 * kKiB, kSegmentGrain = 2 * kMiB;
constexpr size_t kMaxBytes = size_t(1) << 47;

constexpr size_t round_up(size_t bytes, size_t grain) { return (bytes + grain - 1) / grain * grain; }
bool is_small(size_t bytes) { return bytes <= kSmallRequest; }
/// The size class of a request.
size_t block_bytes(size_t bytes) { return round_up(bytes, is_small(bytes) ? kSmallGrain : kLargeGrain); }
size_t segment_bytes(size_t block) {
  return is_small(block) ? kSmallSegment : block < kLargeRequest ? kLargeSegment : round_up(block, kSegmentGrain);
}

struct Segment {
  char* data;
  size_t bytes;
  bool small;
  gpu::StreamHandle stream;         // the one whose requests it serves
  std::optional<PooledEvent> left;  // while it is whole and free, once another stream has asked: all of `stream` so far
};
struct Block;
struct BlockOrder {
  struct Wanted {
    gpu::StreamHandle stream;
    size_t bytes;
  };
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const;
  bool operator()(const Block* a, const Wanted& b) const;
};
using FreeBlocks = std::set<Block*, BlockOrder>;
struct Block {
  enum class State { free, in_use, waiting };  // waiting: given back, but other streams still use it
  Segment* segment;
  char* data;
  size_t bytes, requested = 0;
  State state = State::in_use;
  Block *before = nullptr, *after = nullptr;  // its neighbours in the segment
  StreamUses uses;
  FreeBlocks::node_type node;  // its place among the free blocks while it is not there: giving back needs no memory
  Block* next_waiting = nullptr;
  bool is_free() const { return state == State::free; }
  bool is_whole_segment() const { return !before && !after; }
};
bool BlockOrder::operator()(const Block* a, const Block* b) const {
  return std::tuple(a->segment->stream, a->bytes, a->data) < std::tuple(b->segment->stream, b->bytes, b->data);
}
bool BlockOrder::operator()(const Block* a, const Wanted& b) const {
  return std::pair(a->segment->stream, a->bytes) < std::pair(b.stream, b.bytes);
}

bool idle(gpu::StreamHandle stream) noexcept {
  try {
    return gpu::is_done(stream);
  } catch (const CudaError&) {
    return true;  // nothing runs there any more
  }
}

/// AddressSanitizer sees the memory of an emulated device, which is the host's.
bool marks_memory() {
  static const bool emulated = std::strcmp(gpu::implementation(), "emulated") == 0;
  return TANDEM_ASAN && emulated;
}
/// Marks memory as usable or not, in the order of a stream.
void mark(gpu::StreamHandle stream, char* data, size_t bytes, bool usable) noexcept {
  if (!marks_memory()) return;
  if (idle(stream)) return (usable ? unpoison : poison)(data, bytes);
  struct Range {
    char* data;
    size_t bytes;
    bool usable;
  };
  try {
    gpu::call_on_host(
        stream,
        [](void* context) {
          const std::unique_ptr<Range> range(static_cast<Range*>(context));
          (range->usable ? unpoison : poison)(range->data, range->bytes);
        },
        new Range{data, bytes, usable});
  } catch (const std::exception&) {  // an error of the device, which the work that follows meets as well
  }
}

/// "1.5 GiB"
std::string readable(size_t bytes) {
  std::ostringstream out;
  out.precision(3);
  const auto n = static_cast<double>(bytes);
  if (bytes < kKiB)
    out << bytes << " bytes";
  else if (bytes < kMiB)
    out << n / kKiB << " KiB";
  else if (bytes < kKiB * kMiB)
    out << n / kMiB << " MiB";
  else
    out << n / (kKiB * kMiB) << " GiB";
  return out.str();
}

/// The memory of one GPU.
class DeviceMemory {
 public:
  void* take(Device device, size_t bytes);
  void give(void* data) noexcept;
  void use(void* data, const Stream& stream);
  void empty(int device) noexcept;
  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.current;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  FreeBlocks& free_of(const Segment& segment) { return segment.small ? small_ : large_; }
  Block* find(gpu::StreamHandle stream, size_t bytes);
  Block* find_elsewhere(int device, gpu::StreamHandle stream, size_t bytes, bool wait);
  Block* grow(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes);
  Block* make_room(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes);
  Block* add_block(Segment& segment, char* data, size_t bytes);
  void set_free(Block* block);
  void collect(bool all) noexcept;
  std::vector<std::unique_ptr<Segment>> take_whole_segments();
  std::string report(Device device, gpu::StreamHandle stream, size_t bytes);

  std::mutex mutex_;
  std::unordered_map<void*, std::unique_ptr<Segment>> segments_;
  std::unordered_map<void*, std::unique_ptr<Block>> blocks_;  // in use, waiting and free
  FreeBlocks small_, large_;
  Block *first_waiting_ = nullptr, *last_waiting_ = nullptr;  // in the order they were given back
  MemoryStats stats_;
};

Block* DeviceMemory::add_block(Segment& segment, char* data, size_t bytes) {
  auto block = std::make_unique<Block>();
  block->segment = &segment, block->data = data, block->bytes = bytes;
  FreeBlocks alone;
  alone.insert(block.get());
  block->node = alone.extract(alone.begin());
  return blocks_.emplace(data, std::move(block)).first->second.get();
}

/// Joins it with its free neighbours.
void DeviceMemory::set_free(Block* block) {
  mark(block->segment->stream, block->data, block->bytes, false);
  FreeBlocks& free = free_of(*block->segment);
  const auto join = [&](Block* first, Block* second) {
    first->bytes += second->bytes;
    first->after = second->after;
    if (first->after) first->after->before = first;
    blocks_.erase(second->data);
  };
  if (Block* const after = block->after; after && after->is_free()) {
    free.extract(after);
    join(block, after);
  }
  if (Block* const before = block->before; before && before->is_free()) {
    before->node = free.extract(before);
    join(before, block);
    block = before;
  }
  block->state = Block::State::free;
  block->segment->left.reset();
  free.insert(std::move(block->node));
}

/// Those given back whose other streams are done with them become free; unless `all`, up to the first that is not.
void DeviceMemory::collect(bool all) noexcept {
  Block* before = nullptr;
  for (Block* block = first_waiting_; block;) {
    Block* const next = block->next_waiting;
    if (block->uses.done()) {
      (before ? before->next_waiting : first_waiting_) = next;
      if (!next) last_waiting_ = before;
      set_free(block);
    } else if (all) {
      before = block;
    } else {
      return;
    }
    block = next;
  }
}

Block* DeviceMemory::find(gpu::StreamHandle stream, size_t bytes) {
  const FreeBlocks& free = is_small(bytes) ? small_ : large_;
  const auto best = free.lower_bound(BlockOrder::Wanted{stream, bytes});
  return best != free.end() && (*best)->segment->stream == stream ? *best : nullptr;
}

/// The smallest whole segment of another stream that this one may have: as that one is done with it or, with `wait`,
/// after waiting for it there.
Block* DeviceMemory::find_elsewhere(int device, gpu::StreamHandle stream, size_t bytes, bool wait) {
  FreeBlocks& free = is_small(bytes) ? small_ : large_;
  const size_t most = wait ? kMaxBytes : 2 * segment_bytes(bytes);  // not a huge one while there are others to be had
  Block* best = nullptr;
  for (Block* const each : free) {
    Segment& segment = *each->segment;
    if (segment.stream == stream || !each->is_whole_segment() || each->bytes < bytes || each->bytes > most) continue;
    if (best && best->bytes <= each->bytes) continue;
    if (!wait && !idle(segment.stream)) {
      if (!segment.left) {
        segment.left.emplace(device);
        gpu::record_event(segment.left->handle(), segment.stream);
      }
      if (!gpu::is_done(segment.left->handle())) continue;
    }
    best = each;
  }
  if (!best) return nullptr;
  Segment& segment = *best->segment;
  if (wait) {
    if (!segment.left) {
      segment.left.emplace(device);
      gpu::record_event(segment.left->handle(), segment.stream);
    }
    gpu::wait_event(stream, segment.left->handle());
  }
  segment.left.reset();
  auto node = free.extract(best);
  segment.stream = stream;
  free.insert(std::move(node));
  return best;
}

/// A new segment's block; null when the device has no memory for it.
Block* DeviceMemory::grow(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes) {
  auto segment = std::make_unique<Segment>(Segment{nullptr, segment_bytes(bytes), is_small(bytes), stream, {}});
  lock.unlock();  // it may take long
  segment->data = static_cast<char*>(gpu::allocate(device, segment->bytes));
  if (!segment->data && segment->bytes > round_up(bytes, kSegmentGrain)) {
    segment->bytes = round_up(bytes, kSegmentGrain);
    segment->data = static_cast<char*>(gpu::allocate(device, segment->bytes));
  }
  lock.lock();
  if (!segment->data) return nullptr;
  stats_.reserved += static_cast<int64_t>(segment->bytes);
  Segment& added = *segments_.emplace(segment->data, std::move(segment)).first->second;
  Block* const block = add_block(added, added.data, added.bytes);
  set_free(block);
  return block;
}

/// What the device's other memory cannot serve: others' blocks, then what is handed back.
Block* DeviceMemory::make_room(Lock& lock, int device, gpu::StreamHandle stream, size_t bytes) {
  if (Block* const waited = find_elsewhere(device, stream, bytes, /*wait=*/true)) return waited;
  lock.unlock();
  gpu::synchronize(device);
  lock.lock();
  collect(/*all=*/true);
  if (Block* const found = find(stream, bytes)) return found;
  if (Block* const found = find_elsewhere(device, stream, bytes, /*wait=*/true)) return found;
  const auto segments = take_whole_segments();
  lock.unlock();
  for (const auto& each : segments) gpu::release(device, each->data);
  lock.lock();
  return grow(lock, device, stream, bytes);
}

/// Those whose every byte is free, and whose streams have nothing more to do, leave the books.
std::vector<std::unique_ptr<Segment>> DeviceMemory::take_whole_segments() {
  std::vector<std::unique_ptr<Segment>> taken;
  taken.reserve(segments_.size());
  for (FreeBlocks* const free : {&small_, &large_})
    for (auto at = free->begin(); at != free->end();) {
      Block* const block = *at;
      if (!block->is_whole_segment() || !idle(block->segment->stream)) {
        ++at;
        continue;
      }
      at = free->erase(at);
      auto segment = segments_.extract(block->data);
      if (marks_memory()) unpoison(block->data, block->bytes);
      stats_.reserved -= static_cast<int64_t>(block->bytes);
      taken.push_back(std::move(segment.mapped()));
      blocks_.erase(block->data);
    }
  return taken;
}

void* DeviceMemory::take(Device device, size_t bytes) {
  const gpu::StreamHandle stream = current_stream(device).handle();
  const int index = device.index();
  const size_t wanted = bytes <= kMaxBytes ? block_bytes(bytes) : 0;
  Lock lock(mutex_);
  Block* block = nullptr;
  if (wanted) {
    collect(/*all=*/false);
    block = find(stream, wanted);
    if (!block && first_waiting_) collect(/*all=*/true), block = find(stream, wanted);
    if (!block) block = find_elsewhere(index, stream, wanted, /*wait=*/false);
    if (!block) block = grow(lock, index, stream, wanted);
    if (!block) block = make_room(lock, index, stream, wanted);
  }
  TANDEM_CHECK_AS(OutOfMemoryError, block, "allocate: ", report(device, stream, bytes));
  const size_t rest = block->bytes - wanted;
  if (rest >= (block->segment->small ? kSmallGrain : kSmallRequest)) {
    Block* const left = add_block(*block->segment, block->data + wanted, rest);
    FreeBlocks& free = free_of(*block->segment);
    block->node = free.extract(block);
    block->bytes = wanted;
    left->before = block, left->after = block->after;
    if (left->after) left->after->before = left;
    block->after = left;
    left->state = Block::State::free;
    free.insert(std::move(left->node));
  } else {
    block->node = free_of(*block->segment).extract(block);
  }
  block->state = Block::State::in_use;
  block->requested = bytes;
  mark(stream, block->data, bytes, true);  // and not what its size class adds: an overrun is found
  stats_.current += static_cast<int64_t>(bytes);
  stats_.peak = std::max(stats_.peak, stats_.current);
  ++stats_.allocations;
  return block->data;
}

void DeviceMemory::give(void* data) noexcept {
  const std::lock_guard lock(mutex_);
  Block* const block = blocks_.at(data).get();
  stats_.current -= static_cast<int64_t>(block->requested);
  if (block->uses.empty()) return set_free(block);
  block->uses.close();
  block->state = Block::State::waiting;
  block->next_waiting = nullptr;
  (first_waiting_ ? last_waiting_->next_waiting : first_waiting_) = block;
  last_waiting_ = block;
}

void DeviceMemory::use(void* data, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(data);
  if (at != blocks_.end() && at->second->segment->stream != stream.handle()) at->second->uses.add(stream);
}

void DeviceMemory::empty(int device) noexcept {
  try {
    Lock lock(mutex_);
    if (segments_.empty()) return;
    lock.unlock();
    gpu::synchronize(device);
    lock.lock();
    collect(/*all=*/true);
    const auto segments = take_whole_segments();
    lock.unlock();
    for (const auto& each : segments) gpu::release(device, each->data);
  } catch (const std::exception&) {  // a lost device keeps its memory
  }
}

std::string DeviceMemory::report(Device device, gpu::StreamHandle stream, size_t bytes) {
  size_t cached = 0, elsewhere = 0, waiting = 0, rounding = 0, largest = 0, blocks = 0;
  std::map<size_t, size_t> counts;  // of blocks in use, by requested size
  for (const auto& [data, block] : blocks_) {
    if (block->is_free()) {
      (block->segment->stream == stream ? cached : elsewhere) += block->bytes;
      largest = std::max(largest, block->bytes);
    } else if (block->state == Block::State::waiting) {
      waiting += block->bytes;
    } else {
      rounding += block->bytes - block->requested;
      ++counts[block->requested];
      ++blocks;
    }
  }
  const auto info = gpu::memory_info(device.index());
  std::ostringstream out;
  out << "out of memory on " << device << ": asked for " << readable(bytes) << " (" << bytes << " bytes). In use are "
      << readable(static_cast<size_t>(stats_.current)) << " in " << blocks << " blocks (at the peak "
      << readable(static_cast<size_t>(stats_.peak)) << "), and " << readable(rounding)
      << " by rounding. Free between them are " << readable(cached) << " of this stream and " << readable(elsewhere)
      << " of others, the largest block " << readable(largest) << "; given back, but still used by other streams, "
      << readable(waiting) << ". Held from the device are " << readable(static_cast<size_t>(stats_.reserved))
      << "; of its " << readable(static_cast<size_t>(info.total)) << " are " << readable(static_cast<size_t>(info.free))
      << " free";
  std::vector<std::pair<size_t, size_t>> largest_first(counts.begin(), counts.end());
  std::sort(largest_first.begin(), largest_first.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first * a.second, a.first) > std::pair(b.first * b.second, b.first);
  });
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(kShown, largest_first.size()); ++i)
    out << (i ? ", " : ". Most is in ") << largest_first[i].second << " x " << readable(largest_first[i].first);
  return out.str();
}

DeviceMemory& memory(Device device) {
  static auto& all = *new std::array<DeviceMemory, kMaxDevices>();  // never destroyed: tensors may be static
  return all[static_cast<size_t>(device.index())];
}
DeviceMemory& checked_memory(Device device, const char* op) {
  TANDEM_CHECK(device.is_cuda(), op, ": got ", device, "; accepted: a CUDA device");
  check_device_exists(device);
  return memory(device);
}

}  // namespace

void* allocate(Device device, size_t bytes) { return bytes == 0 ? nullptr : memory(device).take(device, bytes); }
void deallocate(Device device, void* data) noexcept {
  if (data) memory(device).give(data);
}
void record_stream(Device device, void* data, const Stream& stream) { memory(device).use(data, stream); }

MemoryStats memory_stats(Device device) { return checked_memory(device, "memory_stats").stats(); }
void reset_peak_memory_stats(Device device) { checked_memory(device, "reset_peak_memory_stats").reset_peak(); }
int64_t memory_allocated(Device device) { return cuda::memory_stats(device).current; }
int64_t max_memory_allocated(Device device) { return cuda::memory_stats(device).peak; }
int64_t memory_reserved(Device device) { return cuda::memory_stats(device).reserved; }
void empty_cache() noexcept {
  for (int i = 0; i < std::min(gpu::device_count(), kMaxDevices); ++i) memory(Device(kCUDA, i)).empty(i);
}

}  // namespace tandem::cuda
