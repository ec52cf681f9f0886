#include "tandem/data/samplers/shard_sampler.h"

#include <algorithm>
#include <numeric>

#include "tandem/core/generator.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"

using namespace tandem;
using namespace tandem::data::samplers;
using Indices = std::vector<size_t>;

namespace {

/// Implements the rule in PyTorch's documentation: pads or truncates the list, then takes every world-th entry.
Indices by_the_book(Indices order, size_t world, size_t rank, bool drop_last) {
  if (drop_last) {
    while (order.size() % world != 0) order.pop_back();
  } else {
    const Indices original = order;
    for (size_t i = 0; !original.empty() && order.size() % world != 0; ++i)
      order.push_back(original[i % original.size()]);
  }
  Indices share;
  for (size_t i = 0; i < order.size(); ++i)
    if (i % world == rank) share.push_back(order[i]);
  return share;
}

Indices drain(Sampler<>& sampler, size_t batch_size) {
  Indices all;
  while (auto batch = sampler.next(batch_size)) {
    REQUIRE(!batch->empty());
    REQUIRE(batch->size() <= batch_size);
    all.insert(all.end(), batch->begin(), batch->end());
  }
  return all;
}
Indices range(size_t n) {
  Indices all(n);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}
Indices sorted(Indices list) {
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace

TEST_CASE("distributed index lists follow PyTorch's rule for every size and world", "[data][samplers]") {
  for (size_t size = 0; size <= 40; ++size)
    for (size_t world = 1; world <= 8; ++world) {
      Indices order = range(size), everything;
      std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size / 3), order.end());
      std::reverse(order.begin() + static_cast<std::ptrdiff_t>(size / 2), order.end());
      for (size_t rank = 0; rank < world; ++rank) {
        INFO("size " << size << ", world " << world << ", rank " << rank);
        REQUIRE(shard_indices(order, world, rank, RemainderPolicy::kPad) == by_the_book(order, world, rank, false));
        REQUIRE(shard_indices(order, world, rank, RemainderPolicy::kDrop) == by_the_book(order, world, rank, true));
        const Indices kept = shard_indices(order, world, rank, RemainderPolicy::kKeep);
        everything.insert(everything.end(), kept.begin(), kept.end());
      }
      REQUIRE(sorted(everything) == range(size));  // each example exactly once
    }
}

TEST_CASE("distributed index lists are those that PyTorch gave", "[data][samplers]") {
  const auto fixture = test::read_json("distributed_sampler.json");
  size_t lists = 0;
  for (const char* kind : {"plain", "shuffled"})
    for (const auto& row : fixture.at(kind)) {
      const Indices order = row.contains("permutation") ? row["permutation"].get<Indices>() : range(row["size"]);
      const size_t world = row["world"];
      for (size_t rank = 0; rank < world; ++rank, ++lists) {
        INFO(row["size"] << " examples, rank " << rank << " of " << world << ", drop_last " << row["drop_last"]);
        REQUIRE(shard_indices(order, world, rank, row["drop_last"] ? RemainderPolicy::kDrop : RemainderPolicy::kPad) ==
                row["lists"][rank].get<Indices>());
      }
    }
  REQUIRE(lists > 2000);
}

TEST_CASE("ShardSampler shuffles by seed and epoch, alike on all ranks", "[data][samplers]") {
  const size_t size = 37, world = 4;
  Indices first, second, all;
  for (size_t rank = 0; rank < world; ++rank) {
    ShardSampler sampler(size, world, rank, {.shuffle = true, .seed = 3, .drop_last = false, .pad = false});
    const Indices epoch0 = drain(sampler, 4);
    REQUIRE(epoch0.size() == sampler.local_sample_count());
    sampler.reset();
    REQUIRE(drain(sampler, 5) == epoch0);  // the order repeats unless set_epoch is called
    sampler.set_epoch(1);
    sampler.reset();
    const Indices epoch1 = drain(sampler, 40);
    REQUIRE(epoch1 != epoch0);
    ShardSampler other(size, world, rank, {.shuffle = true, .seed = 4, .drop_last = false, .pad = false});
    REQUIRE(other.indices() == epoch1);  // the order depends on seed + epoch only
    const Indices whole = ShardSampler(size, 1, 0, {.shuffle = true, .seed = 4}).indices();
    // All ranks share one shuffled list.
    for (size_t i = 0; i < epoch1.size(); ++i) REQUIRE(epoch1[i] == whole[rank + i * world]);
    all.insert(all.end(), epoch1.begin(), epoch1.end());
  }
  REQUIRE(sorted(all) == range(size));
}

TEST_CASE("ShardSampler takes a new epoch at once when nothing was handed out", "[data][samplers]") {
  ShardSampler sampler(100);
  const Indices epoch0 = sampler.indices();
  sampler.set_epoch(1);
  const Indices epoch1 = sampler.indices();
  REQUIRE(epoch1 != epoch0);
  REQUIRE(sampler.epoch() == 1);
  REQUIRE(sampler.next(10).has_value());
  sampler.set_epoch(2);
  REQUIRE(sampler.indices() == epoch1);
}

TEST_CASE("ShardSampler without shuffling, and its bad arguments", "[data][samplers]") {
  ShardSampler sampler(10, 4, 1, {.shuffle = false});
  REQUIRE(drain(sampler, 2) == Indices{1, 5, 9});
  REQUIRE_THROWS_WITH(ShardSampler(10, 4, 4), Contains("num_replicas is 4 and rank is 4"));
  REQUIRE_THROWS_WITH(ShardSampler(10, 0, 0), Contains("num_replicas is 0 and rank is 0"));
}

TEST_CASE("ShardSampler leaves the rank's own random numbers alone", "[data][samplers]") {
  const PhiloxState before = default_generator().get_state();
  ShardSampler sampler(100, 2, 1);
  REQUIRE(default_generator().get_state().offset == before.offset);
}

TEST_CASE("RandomSampler gives each index once, anew each epoch, by the seed", "[data][samplers]") {
  manual_seed(5);
  RandomSampler a(50);
  const Indices first = drain(a, 7);
  REQUIRE(sorted(first) == range(50));
  a.reset();
  const Indices second = drain(a, 7);
  REQUIRE(sorted(second) == range(50));
  REQUIRE(second != first);
  manual_seed(5);
  RandomSampler b(50);
  REQUIRE(drain(b, 50) == first);
  b.reset(3);
  REQUIRE(sorted(drain(b, 2)) == range(3));
}

TEST_CASE("SequentialSampler counts, and nothing comes of nothing", "[data][samplers]") {
  SequentialSampler a(5);
  REQUIRE(a.next(3) == Indices{0, 1, 2});
  REQUIRE(a.next(3) == Indices{3, 4});
  REQUIRE(a.next(3) == std::nullopt);
  a.reset(2);
  REQUIRE(drain(a, 1) == Indices{0, 1});
  REQUIRE(SequentialSampler(0).next(1) == std::nullopt);
  REQUIRE(RandomSampler(0).next(1) == std::nullopt);
  REQUIRE(ShardSampler(0, 3, 2).next(1) == std::nullopt);
}
