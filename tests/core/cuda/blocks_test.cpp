// Tests the bookkeeping of a GPU's memory blocks against a plain list of blocks.
#include "tandem/core/cuda/block_pool.h"

#include <map>
#include <random>
#include <vector>

#include "tandem/tests/catch.h"

using namespace tandem;
using cuda::Block;
using cuda::BlockPool;

namespace {

gpu::StreamHandle stream(uintptr_t number) { return reinterpret_cast<gpu::StreamHandle>(number); }
char* address(uintptr_t number) { return reinterpret_cast<char*>(number); }

}  // namespace

TEST_CASE("blocks that are taken and given back at random stay apart, and fill their segments", "[allocator]") {
  BlockPool blocks;
  std::mt19937 random(1);
  std::map<char*, Block*> taken;
  uintptr_t next = uintptr_t(1) << 32;
  const auto uniform = [&](size_t most) { return std::uniform_int_distribution<size_t>(1, most)(random); };
  for (int round = 0; round < 5000; ++round) {
    if (!taken.empty() && uniform(100) <= 48) {
      const auto at = std::next(taken.begin(), static_cast<long>(uniform(taken.size()) - 1));
      blocks.free_block(at->second);
      taken.erase(at);
      continue;
    }
    const size_t bytes = cuda::round_to_block_bytes(uniform(size_t(1) << uniform(24)));
    const auto mine = stream(uniform(2));
    Block* block = blocks.find_free_block(mine, bytes);
    size_t best = SIZE_MAX;  // size of the best block, found by checking all
    blocks.for_each_block([&](const Block& each) {
      const bool fits = each.is_free() && each.segment->stream == mine && each.bytes >= bytes;
      if (fits && each.segment->is_small == (bytes <= cuda::kMaxSmallRequestBytes)) best = std::min(best, each.bytes);
    });
    REQUIRE((block ? block->bytes : SIZE_MAX) == best);
    if (!block) {
      const size_t whole = cuda::segment_bytes(bytes);
      block = blocks.add_segment(std::make_unique<cuda::Segment>(
          cuda::Segment{address(next), whole, bytes <= cuda::kMaxSmallRequestBytes, mine, {}}));
      next += whole;
    }
    blocks.allocate_block(block, bytes);
    REQUIRE(block->bytes >= bytes);
    REQUIRE(blocks.at(block->data) == block);
    taken.emplace(block->data, block);
  }
  std::map<char*, const Block*> all;
  blocks.for_each_block([&](const Block& each) { all.emplace(each.data, &each); });
  std::map<const cuda::Segment*, size_t> held;
  const Block* before = nullptr;
  for (const auto& [data, block] : all) {
    REQUIRE(block->is_free() == !taken.count(data));
    if (before) REQUIRE(before->data + before->bytes <= data);
    if (before && before->segment == block->segment) {
      REQUIRE(before->next == block);
      REQUIRE_FALSE((before->is_free() && block->is_free()));  // free neighbours are merged
    }
    held[block->segment] += block->bytes;
    before = block;
  }
  for (const auto& [segment, bytes] : held) REQUIRE(bytes == segment->bytes);
  for (const auto& [data, block] : taken) blocks.free_block(block);
  std::vector<Block*> whole;
  blocks.for_each_block([&](const Block& each) { whole.push_back(blocks.at(each.data)); });
  REQUIRE(whole.size() == held.size());
  for (Block* const block : whole) {
    REQUIRE(block->is_whole_segment());
    const size_t bytes = block->bytes;
    REQUIRE(blocks.remove_segment(block)->bytes == bytes);
  }
  REQUIRE(blocks.empty());
}
