// Elementwise loops that run one after the other, run together tile by tile: what one writes is still in the cache when
// the next reads it, and what only they use needs no memory but the cache.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tandem/core/loop/recorded_loop.h"
#include "tandem/core/storage.h"

namespace tandem::detail {

/// Whether an element of what the loop writes depends on no other place of what it reads, and nothing but these writes
/// comes of it (an integer division, say, may throw).
bool is_pure_elementwise(const Loop& loop);

/// A run of elementwise loops over one range, in their order. Two of them may use the same memory only in the same way:
/// then each place is complete before the next loop comes to it, whatever tile it is in.
class LoopChain {
 public:
  /// Takes the loop to the end of the chain if it fits there. @return whether it did
  bool add(RecordedLoop& loop);
  bool empty() const { return loops_.empty(); }
  const std::vector<RecordedLoop>& loops() const { return loops_; }

  /// Makes the one loop that runs them, for as long as this chain lives and does not move. The storages of which
  /// `is_temporary` is true are used by this chain alone and get a tile's memory each while it runs.
  const Loop& finish(const std::function<bool(const StorageImpl*)>& is_temporary);
  /// What finish() made.
  const Loop& loop() const { return loops_.size() == 1 ? loops_[0].get() : whole_; }

 private:
  /// An operand of a temporary.
  struct Redirected {
    size_t loop;
    int operand;
    size_t temporary;
  };
  static void run(const Loop& whole, int64_t begin, int64_t end);

  std::vector<RecordedLoop> loops_;
  std::vector<Redirected> redirected_;
  std::vector<int64_t> places_;  // in the scratch memory: of each loop's copy, then of each temporary's tile
  size_t temporaries_ = 0;
  std::vector<const Operand*> streams_;  // of memory: one of each storage
  Loop whole_{};
};

/// What a replay runs at once: loops that do not depend on each other, or a chain.
struct LoopGroup {
  std::vector<RecordedLoop> loops;
  std::unique_ptr<LoopChain> chain;
  const std::vector<RecordedLoop>& all() const { return chain ? chain->loops() : loops; }
};

/// Without what nothing reads: a gradient of an input, a copy whose reader was left out.
/// @param is_temporary  whether nobody needs what the loops write there after them
void drop_unused_loops(std::vector<LoopGroup>& groups, const std::function<bool(const Operand&)>& is_temporary);
/// Elementwise loops that follow each other become chains where they can. No group is empty then.
void chain_elementwise_loops(std::vector<LoopGroup>& groups);

}  // namespace tandem::detail
