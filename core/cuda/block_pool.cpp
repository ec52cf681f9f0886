// Bookkeeping of the GPU caching allocator: splits, merges and finds blocks.
#include "tandem/core/cuda/block_pool.h"

#include <tuple>

namespace tandem::cuda {
namespace {

constexpr size_t kSmallSegmentBytes = 2 * kMiB;  // segment size for requests of at most kMaxSmallRequestBytes
// Requests below kMinDedicatedSegmentBytes share segments of kLargeSegmentBytes bytes; larger ones get a segment of
// their own.
constexpr size_t kMinDedicatedSegmentBytes = 10 * kMiB, kLargeSegmentBytes = 20 * kMiB;
constexpr size_t kSmallBlockGranularity = 512, kLargeBlockGranularity = 128 * 1024, kSegmentGranularity = 2 * kMiB;

constexpr size_t round_up(size_t bytes, size_t granularity) {
  return (bytes + granularity - 1) / granularity * granularity;
}

}  // namespace

size_t round_to_block_bytes(size_t bytes) {
  return round_up(bytes, bytes <= kMaxSmallRequestBytes ? kSmallBlockGranularity : kLargeBlockGranularity);
}
size_t segment_bytes(size_t block) {
  return block <= kMaxSmallRequestBytes      ? kSmallSegmentBytes
         : block < kMinDedicatedSegmentBytes ? kLargeSegmentBytes
                                             : min_segment_bytes(block);
}
size_t min_segment_bytes(size_t block) { return round_up(block, kSegmentGranularity); }

bool Block::Comparator::operator()(const Block* a, const Block* b) const {
  const auto key = [](const Block* x) {
    return std::tuple(x->segment->pool_id, x->segment->stream, x->bytes, x->data);
  };
  return key(a) < key(b);
}
bool Block::Comparator::operator()(const Block* a, const SearchKey& b) const {
  return std::tuple(a->segment->pool_id, a->segment->stream, a->bytes) < std::tuple(b.pool_id, b.stream, b.bytes);
}

Block* BlockPool::create_block(Segment& segment, char* data, size_t bytes) {
  auto block = std::make_unique<Block>();
  block->segment = &segment, block->data = data, block->bytes = bytes;
  Block::FreeSet alone;
  alone.insert(block.get());
  block->node = alone.extract(alone.begin());
  return all_blocks_.emplace(data, std::move(block)).first->second.get();
}

Block* BlockPool::add_segment(std::unique_ptr<Segment> segment) {
  Block* const block = create_block(*segment, segment->data, segment->bytes);
  block->owned_segment = std::move(segment);
  free_block(block);
  return block;
}
Block* BlockPool::at(void* data) const {
  const auto found = all_blocks_.find(data);
  return found == all_blocks_.end() ? nullptr : found->second.get();
}
Block* BlockPool::find_free_block(gpu::StreamHandle stream, size_t bytes, uint64_t pool_id) const {
  const Block::FreeSet& among = free_blocks(bytes);
  const auto best = among.lower_bound(Block::Comparator::SearchKey{pool_id, stream, bytes});
  const bool fits = best != among.end() && (*best)->segment->stream == stream && (*best)->segment->pool_id == pool_id;
  return fits ? *best : nullptr;
}

void BlockPool::allocate_block(Block* block, size_t bytes) {
  const size_t rest = block->bytes - bytes;
  const bool splits = rest >= (block->segment->is_small ? kSmallBlockGranularity : kMaxSmallRequestBytes);
  Block* const left = splits ? create_block(*block->segment, block->data + bytes, rest) : nullptr;
  Block::FreeSet& free = free_blocks_of(*block->segment);
  block->node = free.extract(block);
  block->state = Block::State::in_use;
  if (!left) return;
  block->bytes = bytes;
  left->prev = block, left->next = block->next;
  if (left->next) left->next->prev = left;
  block->next = left;
  left->state = Block::State::free;
  free.insert(std::move(left->node));
}

void BlockPool::free_block(Block* block) noexcept {
  Block::FreeSet& free = free_blocks_of(*block->segment);
  const auto join = [&](Block* first, Block* second) {
    first->bytes += second->bytes;
    first->next = second->next;
    if (first->next) first->next->prev = first;
    all_blocks_.erase(second->data);
  };
  if (Block* const next = block->next; next && next->is_free()) {
    free.extract(next);
    join(block, next);
  }
  if (Block* const prev = block->prev; prev && prev->is_free()) {
    prev->node = free.extract(prev);
    join(prev, block);
    block = prev;
  }
  block->state = Block::State::free;
  block->segment->last_use_event.reset();
  free.insert(std::move(block->node));
}

void BlockPool::assign_to_stream(Block* block, gpu::StreamHandle stream) {
  Block::FreeSet& free = free_blocks_of(*block->segment);
  auto node = free.extract(block);
  block->segment->stream = stream;
  free.insert(std::move(node));
}
std::unique_ptr<Segment> BlockPool::remove_segment(Block* block) {
  free_blocks_of(*block->segment).extract(block);
  std::unique_ptr<Segment> segment = std::move(block->owned_segment);
  all_blocks_.erase(block->data);
  return segment;
}

}  // namespace tandem::cuda
