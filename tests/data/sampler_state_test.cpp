// Tests LibTorch's samplers for streams and for several ranks, and the state that samplers save in archives.
#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "tandem/core/generator.h"
#include "tandem/data/data.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/randint.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data::samplers;

namespace {

using List = std::vector<size_t>;

List rest_of(Sampler<>& sampler, size_t batch_size = 3) {
  List all;
  while (auto batch = sampler.next(batch_size)) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}
template <class S> List share(size_t size, size_t world, size_t rank, bool duplicates, size_t epoch = 0) {
  S sampler(size, world, rank, duplicates);
  sampler.set_epoch(epoch);
  sampler.reset();
  return rest_of(sampler);
}
template <class S> std::string saved(const S& sampler) {
  std::ostringstream file;
  save(sampler, file);
  return file.str();
}
template <class S> void restore(S& sampler, const std::string& file) { load(sampler, file.data(), file.size()); }
/// Returns an archive of these int64 numbers.
std::string archive_of(const std::vector<std::pair<std::string, Tensor>>& entries) {
  serialize::OutputArchive archive;
  for (const auto& [key, value] : entries) archive.write(key, value, true);
  std::ostringstream file;
  archive.save_to(file);
  return file.str();
}
Tensor number(int64_t value) { return tensor(value, kInt64); }

}  // namespace

TEST_CASE("StreamSampler hands out sizes that sum to the epoch's", "[data][samplers]") {
  StreamSampler sampler(8);
  REQUIRE(sampler.next(3)->size() == 3);
  const BatchSize second = *sampler.next(3);
  const size_t converted = second;
  REQUIRE(converted == 3);
  REQUIRE(sampler.next(3)->size() == 2);
  REQUIRE(!sampler.next(3));
  sampler.reset();
  REQUIRE(sampler.next(100)->size() == 8);
  sampler.reset(2);
  REQUIRE(sampler.next(100)->size() == 2);
}

TEST_CASE("DistributedSequentialSampler gives each rank a block, as LibTorch's", "[data][samplers]") {
  using Sequential = DistributedSequentialSampler;  // the expected lists were computed by LibTorch
  REQUIRE(share<Sequential>(10, 4, 0, true) == List{0, 1, 2});
  REQUIRE(share<Sequential>(10, 4, 1, true) == List{3, 4, 5});
  REQUIRE(share<Sequential>(10, 4, 3, true) == List{9, 0, 1});
  REQUIRE(share<Sequential>(10, 4, 0, false) == List{0, 1});
  REQUIRE(share<Sequential>(10, 4, 3, false) == List{6, 7});
  REQUIRE(share<Sequential>(2, 5, 3, true) == List{1});
  REQUIRE(share<Sequential>(2, 5, 4, true) == List{0});
  REQUIRE(share<Sequential>(2, 5, 1, false).empty());
  REQUIRE(share<Sequential>(10, 1, 0, false).size() == 10);
  REQUIRE(share<Sequential>(0, 3, 2, true).empty());
  Sequential sampler(10, 2, 1);
  REQUIRE(sampler.next(3) == List{5, 6, 7});
  REQUIRE(sampler.index() == 8);
  REQUIRE(sampler.next(3) == List{8, 9});
  REQUIRE(sampler.next(3) == std::nullopt);
  sampler.reset(4);
  REQUIRE(rest_of(sampler) == List{2, 3});
  REQUIRE_THROWS_WITH(Sequential(10, 4, 4), Contains("num_replicas is 4 and rank is 4"));
}

TEST_CASE("DistributedRandomSampler's blocks are of one permutation for each epoch", "[data][samplers]") {
  for (const size_t size : {1, 7, 12, 40})
    for (const size_t world : {1, 2, 5}) {
      List all, next_epoch, floor;
      for (size_t rank = 0; rank < world; ++rank) {
        const List mine = share<DistributedRandomSampler>(size, world, rank, true);
        REQUIRE(mine.size() == (size + world - 1) / world);
        all.insert(all.end(), mine.begin(), mine.end());
        const List later = share<DistributedRandomSampler>(size, world, rank, true, 1);
        next_epoch.insert(next_epoch.end(), later.begin(), later.end());
        const List fewer = share<DistributedRandomSampler>(size, world, rank, false);
        floor.insert(floor.end(), fewer.begin(), fewer.end());
      }
      INFO(size << " examples, " << world << " ranks");
      REQUIRE(std::set<size_t>(all.begin(), all.end()).size() == size);
      REQUIRE(*std::max_element(all.begin(), all.end()) == size - 1);
      if (size > 7) REQUIRE(all != next_epoch);
      REQUIRE(std::is_permutation(all.begin(), all.end(), next_epoch.begin(), next_epoch.end()));
      List whole;  // the list to shuffle: all examples, then the first ones again as padding
      for (size_t i = 0; i < all.size(); ++i) whole.push_back(i % size);
      for (const auto& [epoch, joined] : {std::pair(0U, all), std::pair(1U, next_epoch)}) {
        List shuffled = whole;
        std::mt19937 generator(epoch);
        std::shuffle(shuffled.begin(), shuffled.end(), generator);
        REQUIRE(joined == shuffled);
      }
      if (size % world == 0) REQUIRE(all == share<DistributedRandomSampler>(size, 1, 0, true));
      REQUIRE(floor.size() == size / world * world);
      REQUIRE(std::set<size_t>(floor.begin(), floor.end()).size() == floor.size());
    }
  DistributedSampler<>* base = nullptr;
  DistributedRandomSampler sampler(20);
  base = &sampler;
  base->set_epoch(4);
  REQUIRE(base->epoch() == 4);
  const List before = rest_of(sampler);  // set_epoch takes effect at the next reset()
  REQUIRE(before == share<DistributedRandomSampler>(20, 1, 0, true, 0));
  sampler.reset();
  REQUIRE(rest_of(sampler) == share<DistributedRandomSampler>(20, 1, 0, true, 4));
}

TEST_CASE("RandomSampler keeps its permutation in the dtype that is asked for", "[data][samplers]") {
  manual_seed(3);
  RandomSampler wide(200);
  manual_seed(3);
  RandomSampler narrow(200, kUInt8);
  REQUIRE(rest_of(wide) == rest_of(narrow));
  narrow.reset(256);
  REQUIRE(rest_of(narrow).size() == 256);
  REQUIRE_THROWS_WITH(narrow.reset(257), Contains("indices up to 256 do not fit into uint8"));
  REQUIRE_THROWS_WITH(RandomSampler(3, kFloat32), Contains("float32") && Contains("accepted"));
  REQUIRE_THROWS_WITH(RandomSampler(-1), Contains("size is -1"));
}

TEST_CASE("a sampler goes on from every place, its first and its end too", "[data][samplers]") {
  const auto goes_on = [](auto make, size_t length) {
    for (size_t place = 0; place <= length; ++place)
      for (const size_t batch : {1, 3, 50}) {
        INFO("from " << place << " of " << length << " by " << batch);
        auto sampler = make(), other = make();
        for (size_t i = 0; i < place; ++i) REQUIRE(sampler.next(1));
        const std::string file = saved(sampler);
        restore(other, file);
        CHECK(saved(other) == file);
        const List rest = rest_of(other, batch);
        CHECK(rest.size() == length - place);
        CHECK(rest == rest_of(sampler, batch));
        CHECK(!other.next(batch));
        other.reset();
        CHECK(rest_of(other, batch).size() == length);
      }
  };
  goes_on([] { return SequentialSampler(7); }, 7);
  goes_on([] { return manual_seed(1), RandomSampler(7); }, 7);
  goes_on([] { return DistributedRandomSampler(20, 3, 2); }, 7);
  goes_on([] { return DistributedSequentialSampler(20, 3, 2); }, 7);
  goes_on([] { return DistributedSequentialSampler(20, 3, 0, false); }, 6);
  goes_on([] { return ShardSampler(20, 3, 1); }, 7);
  goes_on([] { return ShardSampler(20, 3, 2, {.pad = false}); }, 6);
  goes_on([] { return SequentialSampler(0); }, 0);
}

TEST_CASE("a sampler goes on where another was saved", "[data][samplers]") {
  SequentialSampler sequential(10), other_sequential(10);
  sequential.next(4);
  restore(other_sequential, saved(sequential));
  REQUIRE(rest_of(other_sequential) == List{4, 5, 6, 7, 8, 9});

  RandomSampler random(20, kInt32), other_random(5);
  random.next(6);
  const std::string file = saved(random);
  const List expected = rest_of(random);
  restore(other_random, file);
  REQUIRE(other_random.index() == 6);
  const RandomSampler copy = other_random;
  REQUIRE(rest_of(other_random) == expected);
  restore(other_random, file);
  REQUIRE(copy.index() == 6);

  StreamSampler stream(10), other_stream(10);
  stream.next(7);
  restore(other_stream, saved(stream));
  REQUIRE(other_stream.next(10)->size() == 3);

  DistributedRandomSampler distributed(20, 3, 1), other_distributed(20, 3, 1);
  distributed.set_epoch(5);
  distributed.reset();
  distributed.next(2);
  restore(other_distributed, saved(distributed));
  REQUIRE(other_distributed.epoch() == 5);
  REQUIRE(other_distributed.index() == distributed.index());
  REQUIRE(rest_of(other_distributed) == rest_of(distributed));

  DistributedSequentialSampler blocks(20, 3, 1), other_blocks(20, 3, 1);
  blocks.next(2);
  restore(other_blocks, saved(blocks));
  REQUIRE(rest_of(other_blocks) == rest_of(blocks));

  ShardSampler shard(20, 3, 1), other_shard(20, 3, 1);
  shard.set_epoch(2);
  shard.next(2);
  restore(other_shard, saved(shard));
  REQUIRE(other_shard.epoch() == 2);
  REQUIRE(rest_of(other_shard) == rest_of(shard));
}

TEST_CASE("a ShardSampler of another number of ranks goes on at the end of the epoch too", "[data][samplers]") {
  // Five ranks share 20 examples. Three ranks cannot continue after 10 examples, which they could not have taken
  // evenly. They can continue after 15, and after all 20, which is the end of the epoch.
  for (const size_t taken : {size_t(2), size_t(3), size_t(4)}) {
    CAPTURE(taken);
    ShardSampler five(20, 5, 1), three(20, 3, 0);
    for (size_t i = 0; i < taken; ++i) REQUIRE(five.next(1));
    const std::string file = saved(five);
    if (taken == 2) {
      REQUIRE_THROWS_WITH(restore(three, file), Contains("5 ranks have taken 2 examples each, which 3 ranks cannot"));
      REQUIRE(rest_of(three).size() == 7);
    } else {
      restore(three, file);
      REQUIRE(rest_of(three).size() == (taken == 3 ? 2 : 0));  // 2 of its 7 remain; the last one is padding
      three.reset();
      REQUIRE(rest_of(three).size() == 7);
    }
  }
  ShardSampler padded(20, 3, 0), five(20, 5, 4);
  rest_of(padded);
  restore(five, saved(padded));  // 21 examples were taken, one of them twice
  REQUIRE(rest_of(five).empty());
}

TEST_CASE("samplers' archives have LibTorch's keys, and those of blocks say of how many", "[data][samplers]") {
  const auto keys = [](const std::string& file) {
    serialize::InputArchive archive;
    archive.load_from(file.data(), file.size());
    return archive.keys();
  };
  using Keys = std::vector<std::string>;
  REQUIRE(keys(saved(SequentialSampler(3))) == Keys{"index"});
  REQUIRE(keys(saved(RandomSampler(3))) == Keys{"index", "indices"});
  REQUIRE(keys(saved(StreamSampler(3))) == Keys{"examples_retrieved_so_far"});
  REQUIRE(keys(saved(DistributedRandomSampler(3))) == Keys{"sample_index_", "epoch_", "num_replicas"});
  REQUIRE(keys(saved(DistributedSequentialSampler(3))) == Keys{"sample_index_", "num_replicas"});
}

TEST_CASE("a state that makes no sense is refused, and the sampler stays what it was", "[data][samplers]") {
  SequentialSampler sequential(4);
  sequential.next(1);
  REQUIRE_THROWS_WITH(restore(sequential, archive_of({{"index", number(5)}})), Contains("'index' is 5"));
  REQUIRE_THROWS_WITH(restore(sequential, archive_of({{"index", number(-1)}})), Contains("'index' is -1"));
  REQUIRE_THROWS_WITH(restore(sequential, archive_of({{"index", tensor({1, 2})}})),
                      Contains("accepted: one int64 value"));
  REQUIRE_THROWS_WITH(restore(sequential, archive_of({{"other", number(1)}})), Contains("index"));
  REQUIRE(sequential.index() == 1);

  RandomSampler random(4);
  random.next(1);
  REQUIRE_THROWS_WITH(restore(random, archive_of({{"index", number(3)}, {"indices", tensor({1, 0}, kInt64)}})),
                      Contains("'index' is 3"));
  REQUIRE_THROWS_WITH(restore(random, archive_of({{"index", number(0)}, {"indices", tensor({1.f})}})),
                      Contains("integers"));
  REQUIRE(random.index() == 1);
  REQUIRE(rest_of(random).size() == 3);

  DistributedRandomSampler distributed(9, 3, 1);
  REQUIRE_THROWS_WITH(restore(distributed, archive_of({{"epoch_", number(2)}, {"sample_index_", number(2)}})),
                      Contains("accepted: 3 to 6"));
  REQUIRE(distributed.epoch() == 0);
}

TEST_CASE("a loader feeds a stream dataset with sizes", "[data][loader]") {
  struct Counter : data::datasets::StreamDataset<Counter, std::vector<int>> {
    std::vector<int> get_batch(size_t count) override {
      std::vector<int> batch;
      for (size_t i = 0; i < count; ++i) batch.push_back(next++);
      return batch;
    }
    std::optional<size_t> size() const override { return 7; }
    int next = 0;
  };
  auto loader = data::make_data_loader<StreamSampler>(Counter(), data::DataLoaderOptions(3));
  std::vector<std::vector<int>> batches;
  for (auto& batch : *loader) batches.push_back(batch);
  REQUIRE(batches == std::vector<std::vector<int>>{{0, 1, 2}, {3, 4, 5}, {6}});
  auto whole = data::make_data_loader(Counter(), StreamSampler(7), data::DataLoaderOptions(3).drop_last(true));
  size_t seen = 0;
  for (auto& batch : *whole) seen += batch.size();
  REQUIRE(seen == 6);
}
