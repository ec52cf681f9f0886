// Chains of elementwise loops: which loops can join, and how the chain runs.
#include "tandem/core/loop/loop_chain.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tandem/core/dtype.h"

namespace tandem::detail {
namespace {

// Number of elements in a tile, which all loops of a chain process before the next tile. It is so small that an
// out-of-order core starts to load for the next loop before the current loop ends. With 64 elements, the calls would
// take longer than the work.
constexpr int64_t kTileElements = 256;
// Prefetch distance in elements. Tiles are too short for the prefetcher of the hardware to detect a stream.
constexpr int64_t kPrefetchDistance = 2 * kTileElements;
constexpr size_t kMaxFusedLoops = 32;  // maximum number of loops in a chain

/// Memory range of an operand's elements. `storage` is set only if the storage has no memory at present; `begin` then
/// counts from the start of the storage. Ranges with different `storage` do not overlap.
struct MemoryRange {
  const StorageImpl* storage;
  int64_t begin, stride, bytes;
};
MemoryRange memory_range_of(const Loop& loop, const Operand& operand) {
  const auto* const storage = static_cast<const StorageImpl*>(operand.buffer);
  const int64_t stride = operand.strides[0];
  // Upper bound of the size of the last element in bytes: 8 is the largest element size.
  const int64_t last = std::min<int64_t>(stride > 0 ? stride : 8, 8);
  const auto begin = reinterpret_cast<intptr_t>(storage->data) + operand.offset;
  return {storage->data ? nullptr : storage, begin, stride, (loop.range - 1) * stride + last};
}
bool are_identical(const MemoryRange& a, const MemoryRange& b) {
  return a.storage == b.storage && a.begin == b.begin && a.stride == b.stride && a.stride > 0;
}
bool are_disjoint(const MemoryRange& a, const MemoryRange& b) {
  return a.storage != b.storage || a.begin + a.bytes <= b.begin || b.begin + b.bytes <= a.begin;
}
/// Whether the second loop may run at each index as soon as the first has run at that index.
bool can_interleave(const Loop& first, const Loop& second) {
  for (int i = 0; i < first.operand_count; ++i)
    for (int j = 0; j < second.operand_count; ++j) {
      if (i >= first.write_count && j >= second.write_count) continue;
      const MemoryRange a = memory_range_of(first, first.operands[i]), b = memory_range_of(second, second.operands[j]);
      if (!are_identical(a, b) && !are_disjoint(a, b)) return false;
    }
  return true;
}

bool can_be_fused(const Loop& loop) {
  if (!loop.elementwise || loop.range < 1 || loop.extents.rank != 1 || loop.scratch != 0 || loop.context.data)
    return false;
  for (int k = 0; k < loop.operand_count; ++k) {
    const Operand& operand = loop.operands[k];
    if (!operand.buffer || operand.strides[0] < (k < loop.write_count ? 1 : 0)) return false;
  }
  return true;
}

}  // namespace

bool is_pure_elementwise(const Loop& loop) {
  return loop.elementwise && (is_floating_point(loop.dtype) || loop.dtype == DType::boolean);
}

bool LoopChain::try_append(RecordedLoop& loop) {
  const Loop& next = loop.get();
  if (!can_be_fused(next) || loops_.size() == kMaxFusedLoops) return false;
  const auto device = [](const Loop& of) { return static_cast<const StorageImpl*>(of.operands[0].buffer)->device; };
  for (const RecordedLoop& before : loops_)
    if (before.get().range != next.range || device(before.get()) != device(next) || !can_interleave(before.get(), next))
      return false;
  loops_.push_back(std::move(loop));
  return true;
}

const Loop& LoopChain::build_chain_loop(const std::function<bool(const StorageImpl*)>& is_temporary) {
  if (loops_.size() == 1) return loop();
  std::vector<const Buffer*> temporaries, streams;
  std::vector<int64_t> element_sizes;
  double cost = 0;
  for (size_t i = 0; i < loops_.size(); ++i) {
    const Loop& loop = loops_[i].get();
    cost += 1 / static_cast<double>(loop.grain);
    for (int k = 0; k < loop.operand_count; ++k) {
      const Operand& operand = loop.operands[k];
      const bool temporary = is_temporary(static_cast<const StorageImpl*>(operand.buffer));
      std::vector<const Buffer*>& known = temporary ? temporaries : streams;
      const auto at = std::find(known.begin(), known.end(), operand.buffer);
      if (temporary) redirected_operands_.push_back({i, k, static_cast<size_t>(at - known.begin())});
      if (at != known.end()) continue;
      known.push_back(operand.buffer);
      if (temporary)
        element_sizes.push_back(operand.strides[0]);
      else if (operand.strides[0] > 0)
        prefetched_operands_.push_back(&operand);
    }
  }
  num_temporaries_ = temporaries.size();
  auto end = static_cast<int64_t>(num_temporaries_ * sizeof(Buffer));
  const auto lay = [&](int64_t bytes) {
    scratch_offsets_.push_back((end + 63) / 64 * 64);
    end = scratch_offsets_.back() + bytes;
  };
  for (const RecordedLoop& loop : loops_) lay(static_cast<int64_t>(RecordedLoop::used_bytes(loop.get())));
  for (const int64_t size : element_sizes) lay(kTileElements * size);
  chain_loop_.body = run_chain;
  chain_loop_.name = "chain";
  chain_loop_.dtype = loops_[0].get().dtype;
  chain_loop_.operand_count = chain_loop_.write_count = 1;
  chain_loop_.operands[0] = loops_[0].get().operands[0];  // operand 0 tells on which device the chain runs
  chain_loop_.context = {this, nullptr, nullptr};
  chain_loop_.scratch = end;
  chain_loop_.range = loops_[0].get().range;
  chain_loop_.grain = std::max<int64_t>(static_cast<int64_t>(1 / cost) / kTileElements, 1) * kTileElements;
  return loop();
}

void LoopChain::run_chain(const Loop& chain_loop, int64_t begin, int64_t end) {
  const LoopChain& chain = *static_cast<const LoopChain*>(chain_loop.context.data);
  char* const memory = loop_scratch();
  auto* const buffers = reinterpret_cast<Buffer*>(memory);
  const size_t count = chain.loops_.size();
  const auto copy = [&](size_t i) { return reinterpret_cast<Loop*>(memory + chain.scratch_offsets_[i]); };
  for (size_t i = 0; i < chain.num_temporaries_; ++i) buffers[i].data = memory + chain.scratch_offsets_[count + i];
  for (size_t i = 0; i < count; ++i) {
    const Loop& loop = chain.loops_[i].get();
    std::memcpy(static_cast<void*>(copy(i)), &loop, RecordedLoop::used_bytes(loop));
    // Pretends that the operand is small, because a loop that writes a large operand bypasses the cache.
    copy(i)->operands[0].bytes = 0;
  }
  for (const RedirectedOperand& each : chain.redirected_operands_)
    copy(each.loop)->operands[each.operand].buffer = &buffers[each.temporary];
  for (int64_t from = begin; from < end; from += kTileElements) {
    const int64_t to = std::min(from + kTileElements, end);
    for (const Operand* stream : chain.prefetched_operands_) {
      const char* const at = stream->buffer->data + stream->offset + (from + kPrefetchDistance) * stream->strides[0];
      const int64_t bytes = (to - from) * stream->strides[0];
      for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i, 0, 2);
    }
    // shifts the offset so that index `from` accesses the start of the tile's memory
    for (const RedirectedOperand& each : chain.redirected_operands_) {
      Operand& operand = copy(each.loop)->operands[each.operand];
      operand.offset = -from * operand.strides[0];
    }
    for (size_t i = 0; i < count; ++i) copy(i)->body(*copy(i), from, to);
  }
}

void eliminate_dead_loops(std::vector<LoopGroup>& groups, const std::function<bool(const Operand&)>& is_temporary) {
  std::unordered_set<const Buffer*> read;
  const auto is_unused = [&](const RecordedLoop& recorded) {
    const Loop& loop = recorded.get();
    if (!is_pure_elementwise(loop)) return false;
    for (int k = 0; k < loop.write_count; ++k)
      if (read.contains(loop.operands[k].buffer) || !is_temporary(loop.operands[k])) return false;
    return true;
  };
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    std::erase_if(group->loops, is_unused);
    for (const RecordedLoop& loop : group->loops)
      for (int k = loop.get().write_count; k < loop.get().operand_count; ++k)
        read.insert(loop.get().operands[k].buffer);
  }
}

void fuse_elementwise_loops(std::vector<LoopGroup>& groups) {
  std::vector<LoopGroup> chained;
  auto chain = std::make_unique<LoopChain>();
  const auto end_chain = [&] {
    if (!chain->empty()) chained.push_back({{}, std::exchange(chain, std::make_unique<LoopChain>())});
  };
  for (LoopGroup& group : groups) {
    if (group.loops.empty()) continue;
    const bool is_one = group.loops.size() == 1;
    if (is_one && chain->try_append(group.loops[0])) continue;
    end_chain();
    if (!is_one || !chain->try_append(group.loops[0])) chained.push_back(std::move(group));
  }
  end_chain();
  groups = std::move(chained);
}

}  // namespace tandem::detail
