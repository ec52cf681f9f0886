// LoopChain: runs consecutive elementwise loops together, tile by tile (loop fusion). Data that one loop writes is
// still in the cache when the next reads it, and temporaries that only these loops use live in the cache alone.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tandem/core/loop/recorded_loop.h"
#include "tandem/core/storage.h"

namespace tandem::detail {

/// Returns whether each element that the loop writes depends only on the elements read at the same index, and the loop
/// has no side effect. An integer division, for example, has one: it may throw.
bool is_pure_elementwise(const Loop& loop);

/// A sequence of elementwise loops over the same range. Two loops may share memory only at identical positions: then an
/// element is complete before the next loop reads it, regardless of the tiles.
class LoopChain {
 public:
  /// Appends the loop to the chain (by std::move) if it can run in the chain. @return whether it was appended
  bool try_append(RecordedLoop& loop);
  bool empty() const { return loops_.empty(); }
  const std::vector<RecordedLoop>& loops() const { return loops_; }

  /// Builds the loop that runs the whole chain; valid while this chain exists and is not moved. Storages for which
  /// `is_temporary` returns true must be used by this chain alone; while the chain runs, each of them gets memory for
  /// one tile.
  const Loop& build_chain_loop(const std::function<bool(const StorageImpl*)>& is_temporary);
  /// The loop that build_chain_loop() built.
  const Loop& loop() const { return loops_.size() == 1 ? loops_[0].get() : chain_loop_; }

 private:
  /// An operand whose storage is a temporary. While the chain runs, it is redirected to the memory of one tile.
  struct RedirectedOperand {
    size_t loop;
    int operand;
    size_t temporary;
  };
  static void run_chain(const Loop& chain_loop, int64_t begin, int64_t end);

  std::vector<RecordedLoop> loops_;
  std::vector<RedirectedOperand> redirected_operands_;
  // Offsets in scratch memory: first of the copies of the loops, then of the tiles of the temporaries.
  std::vector<int64_t> scratch_offsets_;
  size_t num_temporaries_ = 0;
  // operands to prefetch: one for each storage that is not a temporary
  std::vector<const Operand*> prefetched_operands_;
  Loop chain_loop_{};
};

/// Loops that a replay runs at once: independent loops, or a chain (elementwise loops fused into one pass).
struct LoopGroup {
  std::vector<RecordedLoop> loops;
  std::unique_ptr<LoopChain> chain;
  const std::vector<RecordedLoop>& all_loops() const { return chain ? chain->loops() : loops; }
};

/// Removes loops whose results nothing reads, for example the gradient of an input, or a copy whose reader was removed.
/// @param is_temporary  whether the memory of an operand is not needed after the loops
void eliminate_dead_loops(std::vector<LoopGroup>& groups, const std::function<bool(const Operand&)>& is_temporary);
/// Joins consecutive elementwise loops into chains (fused loops) where possible. Afterwards no group is empty.
void fuse_elementwise_loops(std::vector<LoopGroup>& groups);

}  // namespace tandem::detail
