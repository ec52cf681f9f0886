// Tests the random numbers of examples: equal for any number of workers, after a resume, and whatever the model draws.
#include "tandem/data/example_random_streams.h"

#include <sstream>

#include "tandem/core/generator.h"
#include "tandem/core/thread_context.h"
#include "tandem/data/data.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/randint.h"
#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;
using samplers::SequentialSampler;
using samplers::ShardSampler;
using transforms::Stack;

namespace {

using Numbers = std::vector<double>;

/// Example i holds i and a random number drawn in get().
struct Noisy : datasets::Dataset<Noisy> {
  explicit Noisy(size_t n) : n(n) {}
  Example<> get(size_t i) override {
    return {cat({full({1}, static_cast<double>(i)), rand({1})}), core::scalar(static_cast<int64_t>(i), kInt64, kCPU)};
  }
  std::optional<size_t> size() const override { return n; }
  size_t n;
};
/// Appends a random number to an example, after a number of draws that depends on the example's index. These draws must
/// not affect other examples.
Tensor jitter(const Tensor& x) {
  for (int i = 0; i < x[0].item<float>(); ++i) rand({i + 1});
  return cat({x, rand({1})});
}
/// Appends one random number to all rows of a batch.
Example<> shift(Example<> batch) {
  batch.data = cat({batch.data, rand({1, 1}).expand({batch.data.size(0), 1})}, 1);
  return batch;
}
auto augmented(size_t n) {
  return Noisy(n).map(transforms::TensorLambda<>(jitter)).map(Stack<>()).map(transforms::BatchLambda<Example<>>(shift));
}
Numbers numbers_of(const Tensor& x) {
  const Tensor flat = x.to(kFloat64).contiguous().view({-1});
  return {flat.data<double>(), flat.data<double>() + flat.numel()};
}
/// Returns all numbers in an epoch's batches. The consumer draws random numbers meanwhile.
template <class Loader> Numbers epoch_of(Loader& loader, Numbers* consumer = nullptr) {
  Numbers all;
  for (auto& batch : *loader) {
    const Numbers some = numbers_of(batch.data);
    all.insert(all.end(), some.begin(), some.end());
    const Numbers drawn = numbers_of(rand({5}));
    if (consumer) consumer->insert(consumer->end(), drawn.begin(), drawn.end());
  }
  return all;
}
/// Returns one of the four numbers of every example, in order.
Numbers column(const Numbers& all, size_t which) {
  Numbers out;
  for (size_t i = which; i < all.size(); i += 4) out.push_back(all[i]);
  return out;
}
DataLoaderOptions by(size_t workers, size_t batch = 4) { return DataLoaderOptions(batch).workers(workers); }

}  // namespace

TEST_CASE("examples draw the same numbers by any number of workers, and the model its own", "[data][streams]") {
  manual_seed(5);
  Numbers model;
  for (int i = 0; i < 6; ++i) {
    const Numbers drawn = numbers_of(rand({5}));
    model.insert(model.end(), drawn.begin(), drawn.end());
  }
  std::vector<Numbers> expected;
  for (const size_t workers : {0, 1, 2, 3})
    for (const int run : {0, 1}) {
      INFO(workers << " workers, run " << run);
      manual_seed(5);
      auto loader = make_data_loader<SequentialSampler>(augmented(10), by(workers));
      std::vector<Numbers> epochs(2);
      Numbers consumer;
      for (Numbers& epoch : epochs) epoch = epoch_of(loader, &consumer);
      if (expected.empty()) expected = epochs;
      CHECK(epochs == expected);
      CHECK(consumer == model);
    }
  // An example's random numbers depend on its position only, not on the batches. No two draws are equal.
  manual_seed(5);
  auto single = make_data_loader<SequentialSampler>(augmented(10), by(0, 1));
  const Numbers one_by_one = epoch_of(single);
  for (const size_t which : {1, 2}) CHECK(column(one_by_one, which) == column(expected[0], which));
  Numbers drawn;
  for (const Numbers& epoch : expected)
    for (const size_t which : {1, 2}) {
      const Numbers some = column(epoch, which);
      drawn.insert(drawn.end(), some.begin(), some.end());
    }
  std::sort(drawn.begin(), drawn.end());
  CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());
  CHECK(drawn.size() == 40);
}

TEST_CASE("a resumed loader draws what it would have drawn", "[data][streams]") {
  const size_t before = GENERATE(0, 1, 2, 3), after = GENERATE(0, 1, 2, 3);
  manual_seed(6);
  auto whole = make_data_loader(augmented(13), ShardSampler(13), by(before));
  std::vector<Numbers> expected(3);
  for (size_t e = 0; e < 3; ++e) {
    whole->sampler().set_epoch(e);
    expected[e] = epoch_of(whole);
  }
  for (size_t handed_out = 0; handed_out <= 4; ++handed_out) {  // after 4 batches the epoch ends
    INFO(before << " workers, then " << after << "; saved after " << handed_out << " batches");
    manual_seed(6);
    std::ostringstream file;
    Numbers rest;
    {
      auto loader = make_data_loader(augmented(13), ShardSampler(13), by(before));
      epoch_of(loader);
      loader->sampler().set_epoch(1);
      auto at = loader->begin();
      for (size_t i = 0; i < handed_out; ++i) {
        const Numbers some = numbers_of((*at).data);
        rest.insert(rest.end(), some.begin(), some.end());
        if (i + 1 < handed_out || handed_out == 4) ++at;
      }
      if (handed_out == 4) REQUIRE(at == loader->end());
      serialize::OutputArchive archive;
      loader->save(archive);
      archive.save_to(file);
    }
    manual_seed(77);  // has no effect on the resumed loader, because the seed is in the file
    auto resumed = make_data_loader(augmented(13), ShardSampler(13), by(after));
    serialize::InputArchive archive;
    const std::string bytes = file.str();
    archive.load_from(bytes.data(), bytes.size());
    resumed->load(archive);
    if (handed_out < 4) {
      const Numbers more = epoch_of(resumed);
      rest.insert(rest.end(), more.begin(), more.end());
    }
    CHECK(rest == expected[1]);
    resumed->sampler().set_epoch(2);
    CHECK(epoch_of(resumed) == expected[2]);
  }
}

TEST_CASE("a loader that is saved twice without a step between draws on", "[data][streams]") {
  manual_seed(6);
  auto whole = make_data_loader<SequentialSampler>(augmented(12), by(2));
  const Numbers expected = epoch_of(whole);
  manual_seed(6);
  auto first = make_data_loader<SequentialSampler>(augmented(12), by(2));
  auto at = first->begin();
  Numbers all = numbers_of((*at).data);
  for (int i = 0; i < 2; ++i) {
    serialize::OutputArchive out;
    first->save(out);
    const std::vector<char> bytes = pickle_save(out.value());
    first = make_data_loader<SequentialSampler>(augmented(12), by(1));
    serialize::InputArchive in;
    in.load_from(bytes.data(), bytes.size());
    first->load(in);
  }
  const Numbers rest = epoch_of(first);
  all.insert(all.end(), rest.begin(), rest.end());
  CHECK(all == expected);
}

TEST_CASE("seeds, loaders and epochs differ, and manual_seed repeats them", "[data][streams]") {
  manual_seed(1);
  auto a = make_data_loader<SequentialSampler>(augmented(6), by(1));
  auto b = make_data_loader<SequentialSampler>(augmented(6), by(1));
  const Numbers of_a = epoch_of(a), of_b = epoch_of(b), of_a_next = epoch_of(a);
  CHECK(of_a != of_b);
  CHECK(of_a != of_a_next);
  manual_seed(1);
  CHECK(epoch_of(a) == of_a);  // as in PyTorch, manual_seed affects existing loaders too
  CHECK(epoch_of(b) == of_b);
  manual_seed(2);
  CHECK(epoch_of(a) != of_a);
  auto shard = make_data_loader(augmented(6), ShardSampler(6, 1, 0, {.shuffle = false}), by(1));
  const Numbers zeroth = epoch_of(shard), first = epoch_of(shard);
  shard->sampler().set_epoch(1);
  CHECK(zeroth != first);
  CHECK(epoch_of(shard) == first);  // set_epoch selects an epoch, however many were begun before
}

TEST_CASE("ranks draw by the position over all ranks, or each its own", "[data][streams]") {
  const auto as_rank = [](int rank, const auto& run) {
    ThreadContext context;
    context.rank = std::make_shared<RankState>();
    const ThreadContextGuard guard(context);
    manual_seed(8);
    data::detail::set_data_rank(rank);
    run();
  };
  const auto with = [&](const auto& sampler, int rank) {
    Numbers out;
    as_rank(rank, [&] {
      auto loader = make_data_loader(augmented(12), sampler, by(2, 3));
      out = column(epoch_of(loader), 2);
    });
    return out;
  };
  const Numbers alone = with(ShardSampler(12, 1, 0, {.shuffle = false}), 0);
  for (const size_t ranks : {2, 4})
    for (size_t rank = 0; rank < ranks; ++rank) {
      const Numbers mine = with(ShardSampler(12, ranks, rank, {.shuffle = false}), static_cast<int>(rank));
      for (size_t i = 0; i < mine.size(); ++i) CHECK(mine[i] == alone[i * ranks + rank]);
    }
  const Numbers block = with(samplers::DistributedSequentialSampler(12, 3, 1), 1);
  CHECK(block == Numbers(alone.begin() + 4, alone.begin() + 8));
  CHECK(with(SequentialSampler(12), 0) == alone);
  CHECK(with(SequentialSampler(12), 1) != alone);
}

TEST_CASE("a dataset within a dataset draws from the stream of the example that is made", "[data][streams]") {
  struct Mixed : datasets::Dataset<Mixed, Tensor> {
    Tensor get(size_t i) override {
      const std::vector<size_t> pair{i, (i + 1) % 6};
      const auto both = inner.get_batch(pair);
      return both[0].data.add(both[1].data);
    }
    std::optional<size_t> size() const override { return 6; }
    Noisy inner{6};
  };
  std::vector<Numbers> of_batches;
  for (const size_t batch : {1, 4}) {
    manual_seed(3);
    auto loader = make_data_loader<SequentialSampler>(Mixed(), by(2, batch));
    of_batches.emplace_back();
    for (std::vector<Tensor>& examples : *loader)
      for (const Tensor& x : examples) of_batches.back().push_back(x[1].item<float>());
  }
  CHECK(of_batches[0] == of_batches[1]);
  manual_seed(3);  // without a loader, get() uses the caller's generator
  const Numbers direct = numbers_of(Noisy(6).get(0).data);
  manual_seed(3);
  CHECK(direct[1] == rand({1}).item<float>());
}

TEST_CASE("batches of other requests draw by the batch's first example", "[data][streams]") {
  /// Returns a batch of `n` random numbers.
  struct Stream : datasets::StreamDataset<Stream, Tensor> {
    Tensor get_batch(size_t n) override { return rand({static_cast<int64_t>(n)}); }
    std::optional<size_t> size() const override { return {}; }
  };
  std::vector<Numbers> all;
  for (const size_t workers : {0, 1, 3}) {
    manual_seed(4);
    auto loader = make_data_loader(Stream(), samplers::StreamSampler(10), by(workers));
    all.emplace_back();
    for (const Tensor& batch : *loader) {
      const Numbers some = numbers_of(batch);
      all.back().insert(all.back().end(), some.begin(), some.end());
      rand({3});
    }
  }
  CHECK(all[0].size() == 10);
  CHECK((all[1] == all[0] && all[2] == all[0]));
}

TEST_CASE("a chunk dataset shuffles alike whatever the consumer draws meanwhile", "[data][streams]") {
  struct Reader : datasets::ChunkDataReader<int> {
    std::vector<int> read_chunk(size_t chunk) override {
      std::vector<int> out;
      for (int i = 0; i < 20; ++i) out.push_back(static_cast<int>(chunk) * 1000 + randint(900, {1}).item<int>());
      return out;
    }
    size_t chunk_count() override { return 8; }
    void reset() override {}
  };
  using Chunks = datasets::ChunkDataset<Reader, SequentialSampler, samplers::RandomSampler>;
  std::vector<std::vector<int>> runs;
  for (const size_t workers : {0, 0, 1, 1}) {
    manual_seed(9);
    auto dataset = datasets::make_shared_dataset<Chunks>(Reader(), SequentialSampler(8), samplers::RandomSampler(0),
                                                         datasets::ChunkDatasetOptions(1, 10, 30));
    auto loader = make_data_loader(dataset, by(workers, 10));
    runs.emplace_back();
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const std::vector<int>& batch : *loader) {
        runs.back().insert(runs.back().end(), batch.begin(), batch.end());
        for (size_t i = 0; i < runs.size(); ++i) rand({3});  // each run draws another number of times
      }
  }
  CHECK(runs[0].size() == 320);
  for (const auto& run : runs) CHECK(run == runs[0]);
  CHECK(std::vector<int>(runs[0].begin(), runs[0].begin() + 160) !=
        std::vector<int>(runs[0].begin() + 160, runs[0].end()));
}
