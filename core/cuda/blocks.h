// The books of a GPU's memory: segments that came from the device, cut into blocks that are in use, free, or given back
// and still used. They call no runtime and take no lock: that is their owner's part (core/cuda/allocator.cpp).
// Internal.
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
inline constexpr size_t kSmallRequest = kMiB;  // at most

/// The size class of a request.
size_t block_bytes(size_t bytes);
/// What is asked of the device for a block, which is the segment's first.
size_t segment_bytes(size_t block);
/// The least that is asked for it when there is not that much.
size_t least_segment_bytes(size_t block);

struct Segment {
  char* data;
  size_t bytes;
  bool small;
  gpu::StreamHandle stream;         // the one whose requests it serves
  std::optional<PooledEvent> left;  // while it is whole and free, once another stream has asked: all of `stream` so far
  uint64_t pool = 0;                // the private one that it belongs to; 0: none
  bool retired = false;             // nobody takes memory from its pool any more
};

struct Block {
  enum class State { free, in_use, waiting };  // waiting: given back, but other streams still use it
  Segment* segment;
  char* data;
  size_t bytes, requested = 0;
  State state = State::in_use;
  Block *before = nullptr, *after = nullptr;  // its neighbours in the segment
  StreamUses uses;
  Block* next_waiting = nullptr;
  bool is_free() const { return state == State::free; }
  bool is_whole_segment() const { return !before && !after; }

 private:
  friend class Blocks;
  struct Order {
    struct Wanted {
      uint64_t pool;
      gpu::StreamHandle stream;
      size_t bytes;
    };
    using is_transparent = void;
    bool operator()(const Block* a, const Block* b) const;
    bool operator()(const Block* a, const Wanted& b) const;
  };
  using Set = std::set<Block*, Order>;
  std::unique_ptr<Segment> owned;  // of the segment's first block
  Set::node_type node;             // its place among the free blocks while it is not there: giving back needs no memory
};

class Blocks {
 public:
  bool empty() const { return all_.empty(); }
  /// A new segment's only block, free.
  Block* add(std::unique_ptr<Segment> segment);
  /// The block at `data`; null when there is none.
  Block* at(void* data) const;
  /// The smallest free block of a stream that fits a size class, in a private pool or outside of all; null when there
  /// is none.
  Block* find(gpu::StreamHandle stream, size_t bytes, uint64_t pool = 0) const;
  /// The free blocks that requests of a size class come from, by pool, stream, size and address.
  const Block::Set& free(size_t bytes) const { return bytes <= kSmallRequest ? small_ : large_; }
  /// A free block is put to use for `bytes` of a size class; what is left behind becomes a free block.
  void use(Block* block, size_t bytes);
  /// The other way: it joins its free neighbours, and its address may be theirs.
  void set_free(Block* block) noexcept;
  /// A free block that is a whole segment goes to another stream.
  void move(Block* block, gpu::StreamHandle stream);
  /// It leaves the books.
  std::unique_ptr<Segment> remove(Block* block);
  template <class F> void each(F f) const {
    for (const auto& [data, block] : all_) f(*block);
  }

 private:
  Block* make(Segment& segment, char* data, size_t bytes);
  Block::Set& free_of(const Segment& segment) { return segment.small ? small_ : large_; }

  std::unordered_map<void*, std::unique_ptr<Block>> all_;
  Block::Set small_, large_;
};

}  // namespace tandem::cuda
