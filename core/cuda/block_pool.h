// Bookkeeping of the GPU caching allocator: segments of device memory, divided into blocks that are in use, free, or
// waiting (freed, but still used by other streams). Calls no runtime function and takes no lock; that is up to the
// owner (core/cuda/allocator.cpp). Internal.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "tandem/core/cuda/event_pool.h"

namespace tandem::cuda {

inline constexpr size_t kMiB = size_t(1) << 20;
inline constexpr size_t kMaxSmallRequestBytes = kMiB;  // maximum size of a small request

/// Rounds a request up to its size class.
size_t round_to_block_bytes(size_t bytes);
/// Size of the segment to allocate for a block of this size class.
size_t segment_bytes(size_t block);
/// Smallest segment that holds the block, to try if segment_bytes() is not available.
size_t min_segment_bytes(size_t block);

struct Segment {
  char* data;
  size_t bytes;
  bool is_small;
  gpu::StreamHandle stream;  // stream whose requests the segment serves
  /// Event that follows all earlier work of `stream`. Set only while the segment is wholly free and another stream has
  /// asked for it.
  std::optional<PooledEvent> last_use_event;
  uint64_t pool_id = 0;           // private pool that the segment belongs to; 0 if none
  bool is_pool_released = false;  // whether nothing uses the private pool any more
};

struct Block {
  enum class State { free, in_use, waiting };  // waiting: the block was freed, but other streams still use it
  Segment* segment;
  char* data;
  size_t bytes, requested_bytes = 0;
  State state = State::in_use;
  Block *prev = nullptr, *next = nullptr;  // neighbouring blocks in the same segment
  StreamUses stream_uses;
  Block* next_waiting = nullptr;
  bool is_free() const { return state == State::free; }
  bool is_whole_segment() const { return !prev && !next; }

 private:
  friend class BlockPool;
  struct Comparator {
    struct SearchKey {
      uint64_t pool_id;
      gpu::StreamHandle stream;
      size_t bytes;
    };
    using is_transparent = void;
    bool operator()(const Block* a, const Block* b) const;
    bool operator()(const Block* a, const SearchKey& b) const;
  };
  using FreeSet = std::set<Block*, Comparator>;
  std::unique_ptr<Segment> owned_segment;  // the first block of a segment owns the segment; null in other blocks
  // Node for the set of free blocks, kept here while the block is not free, so that freeing needs no memory.
  FreeSet::node_type node;
};

class BlockPool {
 public:
  bool empty() const { return all_blocks_.empty(); }
  /// Adds a segment as a single free block.
  Block* add_segment(std::unique_ptr<Segment> segment);
  /// The block that starts at `data`, or null.
  Block* at(void* data) const;
  /// Returns the smallest free block of a stream that fits a size class, or null. Looks in private pool `pool_id`, or
  /// if it is 0, outside of all pools.
  Block* find_free_block(gpu::StreamHandle stream, size_t bytes, uint64_t pool_id = 0) const;
  /// Set of free blocks for small or for large requests, depending on `bytes`; ordered by pool, stream, size and
  /// address.
  const Block::FreeSet& free_blocks(size_t bytes) const {
    return bytes <= kMaxSmallRequestBytes ? small_free_blocks_ : large_free_blocks_;
  }
  /// Marks a free block as in use for a request of size class `bytes`. If the rest of the block is large enough, makes
  /// it a free block.
  void allocate_block(Block* block, size_t bytes);
  /// Marks a block as free and merges it with free neighbours. The merged block may start at a neighbour's address.
  void free_block(Block* block) noexcept;
  /// Assigns a free block that is a whole segment to another stream.
  void assign_to_stream(Block* block, gpu::StreamHandle stream);
  /// Removes a block that is a whole segment, and returns the segment.
  std::unique_ptr<Segment> remove_segment(Block* block);
  template <class F> void for_each_block(F f) const {
    for (const auto& [data, block] : all_blocks_) f(*block);
  }

 private:
  Block* create_block(Segment& segment, char* data, size_t bytes);
  Block::FreeSet& free_blocks_of(const Segment& segment) {
    return segment.is_small ? small_free_blocks_ : large_free_blocks_;
  }

  std::unordered_map<void*, std::unique_ptr<Block>> all_blocks_;
  Block::FreeSet small_free_blocks_, large_free_blocks_;
};

}  // namespace tandem::cuda
