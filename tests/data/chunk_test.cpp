// Tests ChunkDataset: chunks read by threads, shuffled, and divided into batches.
#include <algorithm>
#include <atomic>
#include <set>
#include <sstream>
#include <thread>

#include "tandem/core/generator.h"
#include "tandem/data/data.h"
#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;
using samplers::RandomSampler;
using samplers::SequentialSampler;

namespace {

constexpr int kPerChunk = 10;

/// Chunk c has the numbers 10 c, ..., 10 c + 9. If some_empty is true, every fifth chunk from chunk 3 on is empty.
struct Tens : datasets::ChunkDataReader<int> {
  explicit Tens(size_t count, int bad = -1, bool some_empty = false) : count(count), bad(bad), some_empty(some_empty) {}
  std::vector<int> read_chunk(size_t index) override {
    std::this_thread::sleep_for(std::chrono::microseconds(index * 7919 % 300));
    TANDEM_CHECK(static_cast<int>(index) != bad, "Tens: chunk ", index, " is lost");
    std::vector<int> chunk;
    if (some_empty && index % 5 == 3) return chunk;
    for (int i = 0; i < kPerChunk; ++i) chunk.push_back(static_cast<int>(index) * kPerChunk + i);
    return chunk;
  }
  size_t chunk_count() override { return count; }
  void reset() override {}
  size_t count;
  int bad;
  bool some_empty;
};
template <class Sampler> using Dataset = datasets::ChunkDataset<Tens, Sampler, Sampler>;
using Options = datasets::ChunkDatasetOptions;

template <class Sampler> auto make(Tens reader, const Options& options) {
  return datasets::make_shared_dataset<Dataset<Sampler>>(reader, Sampler(0), Sampler(0), options);
}
template <class D> std::vector<std::vector<int>> batches_of(D& dataset, size_t size) {
  std::vector<std::vector<int>> all;
  while (auto batch = dataset.get_batch(size)) all.push_back(std::move(*batch));
  return all;
}
std::multiset<int> joined(const std::vector<std::vector<int>>& batches) {
  std::multiset<int> all;
  for (const auto& batch : batches) all.insert(batch.begin(), batch.end());
  return all;
}
std::multiset<int> first(int count) {
  std::multiset<int> all;
  for (int i = 0; i < count; ++i) all.insert(i);
  return all;
}

}  // namespace

TEST_CASE("chunks in order give their examples in order, in whole batches but the last", "[data][chunks]") {
  auto dataset = make<SequentialSampler>(Tens(5), Options(/*preloader_count=*/1, /*batch_size=*/8));
  for (int epoch = 0; epoch < 2; ++epoch) {
    dataset.reset();
    const auto batches = batches_of(dataset, 8);
    REQUIRE(batches.size() == 7);
    int next = 0;
    for (size_t i = 0; i < batches.size(); ++i) {
      REQUIRE(batches[i].size() == (i < 6 ? 8 : 2));
      for (const int example : batches[i]) REQUIRE(example == next++);
    }
    REQUIRE(dataset.get_batch(8) == std::nullopt);
  }
  REQUIRE(!dataset.size());
}

TEST_CASE("random chunks by several threads come completely, each epoch", "[data][chunks]") {
  const size_t preloaders = GENERATE(1, 3), cache = GENERATE(7, 2048), together = GENERATE(1, 4);
  manual_seed(2);
  auto dataset = make<RandomSampler>(Tens(12), Options(preloaders, 7, cache, together));
  std::vector<std::vector<int>> last;
  for (int epoch = 0; epoch < 3; ++epoch) {
    dataset.reset();
    const auto batches = batches_of(dataset, 7);
    REQUIRE(batches.size() == 18);
    REQUIRE(joined(batches) == first(120));
    REQUIRE(batches != last);
    last = batches;
  }
}

TEST_CASE("loaders take chunk datasets, with workers and without", "[data][chunks]") {
  const size_t workers = GENERATE(0, 1, 3);
  auto shared = make<RandomSampler>(Tens(9, -1, /*some_empty=*/true), Options(2, 4, 16));
  auto loader = make_data_loader(shared, DataLoaderOptions(4).workers(workers));
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::multiset<int> seen;
    for (std::vector<int>& batch : *loader) seen.insert(batch.begin(), batch.end());
    REQUIRE(seen.size() == 70);
    REQUIRE(seen.count(35) == 0);
    auto at = loader->begin();  // stop in the middle of an epoch
    REQUIRE(at->size() == 4);
  }
  auto other = make<RandomSampler>(Tens(2), Options(1, 4));
  auto ten_times = make_data_loader(other.map(transforms::Lambda<int>([](int i) { return 10 * i; })), 4);
  REQUIRE(ten_times->begin()->at(0) % 10 == 0);
}

TEST_CASE("a chunk that cannot be read is an error, and the others come", "[data][chunks]") {
  auto dataset = make<SequentialSampler>(Tens(6, /*bad=*/2), Options(2, 5, 5));
  dataset.reset();
  std::multiset<int> seen;
  int errors = 0;
  while (true) try {
      const auto batch = dataset.get_batch(5);
      if (!batch) break;
      seen.insert(batch->begin(), batch->end());
    } catch (const WorkerException& e) {
      REQUIRE_THAT(e.what(), Contains("Tens: chunk 2 is lost") && Contains("[for chunk 2]"));
      ++errors;
    }
  REQUIRE(errors == 1);
  REQUIRE(seen.size() == 50);
  REQUIRE(seen.count(20) == 0);
}

TEST_CASE("a chunk dataset is destroyed or reset at any time", "[data][chunks]") {
  for (size_t i = 0; i < 20; ++i) {
    auto dataset = make<RandomSampler>(Tens(100), Options(3, 2, 2));
    for (size_t epoch = 0; epoch < i % 3; ++epoch) {
      dataset.reset();
      for (size_t batch = 0; batch < i; ++batch) REQUIRE(dataset.get_batch(2)->size() == 2);
    }
  }
}

TEST_CASE("samplers that give nonsense are refused", "[data][chunks]") {
  struct Twice : SequentialSampler {
    using SequentialSampler::SequentialSampler;
    std::optional<std::vector<size_t>> next(size_t) override { return std::vector<size_t>{0, 0}; }
  };
  struct Fails : SequentialSampler {
    using SequentialSampler::SequentialSampler;
    std::optional<std::vector<size_t>> next(size_t) override { TANDEM_FAIL("no chunk today"); }
  };
  datasets::ChunkDataset<Tens, SequentialSampler, Twice> twice(Tens(1), SequentialSampler(0), Twice(0), Options(1, 5));
  twice.reset();
  REQUIRE_THROWS_WITH(twice.get_batch(), Contains("gave 2 indices for a chunk of 10"));
  REQUIRE(twice.get_batch() == std::nullopt);
  datasets::ChunkDataset<Tens, Fails, SequentialSampler> fails(Tens(1), Fails(0), SequentialSampler(0), Options(1, 5));
  fails.reset();
  REQUIRE_THROWS_WITH(fails.get_batch(), Contains("no chunk today"));
  REQUIRE(fails.get_batch() == std::nullopt);
}

TEST_CASE("a preprocessing policy sees what was read together", "[data][chunks]") {
  std::atomic<size_t> most{0};
  datasets::ChunkDataset<Tens, SequentialSampler, SequentialSampler> dataset(
      Tens(5), SequentialSampler(0), SequentialSampler(0), Options(1, 10).cross_chunk_shuffle_count(2),
      [&](std::vector<int>& examples) {
        most = std::max(most.load(), examples.size());
        std::reverse(examples.begin(), examples.end());
      });
  dataset.reset();
  REQUIRE(dataset.get_batch()->front() == 19);
  REQUIRE(dataset.get_batch()->back() == 0);
  REQUIRE(batches_of(dataset, 10).size() == 3);
  REQUIRE(most == 20);
}

TEST_CASE("a chunk dataset goes on with the chunks that were not read", "[data][chunks]") {
  Dataset<SequentialSampler> dataset(Tens(6), SequentialSampler(6), SequentialSampler(0), Options(1, 10));
  serialize::OutputArchive out;
  out.write("index", core::scalar(int64_t{4}, kInt64, kCPU), true);
  std::stringstream file;
  out.save_to(file);
  load(dataset, file);
  dataset.reset();
  REQUIRE(joined(batches_of(dataset, 10)) ==
          std::multiset<int>{40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59});
  std::stringstream at_end;
  save(dataset, at_end);
  dataset.reset();  // only the first reset() after load() restores the saved position
  REQUIRE(joined(batches_of(dataset, 10)) == first(60));
  load(dataset, at_end);
  dataset.reset();
  REQUIRE(dataset.get_batch() == std::nullopt);
}

TEST_CASE("chunk datasets refuse what makes no sense", "[data][chunks]") {
  REQUIRE_THROWS_WITH(Options(0, 1), Contains("Preloader count is 0. At least one preloader needs to be specified."));
  REQUIRE_THROWS_WITH(Options(1, 0), Contains("Batch size is 0. A positive batch size needs to be specified."));
  REQUIRE_THROWS_WITH(
      Options(1, 5, 4),
      Contains("Cache size is less than batch size. Cache needs to be large enough to hold at least one batch.") &&
          Contains("cache_size is 4, batch_size is 5"));
  REQUIRE_THROWS_WITH(Options(1, 5, 0), Contains("Cache size is 0. A positive cache size needs to be specified."));
  REQUIRE_THROWS_WITH(Options(1, 5, 5, 0), Contains("cross_chunk_shuffle_count needs to be greater than 0."));
  auto dataset = make<RandomSampler>(Tens(2), Options(1, 5));
  REQUIRE_THROWS_WITH(dataset.get_batch(5), Contains("Dataset needs to call reset() before calling get_batch()."));
  dataset.reset();
  REQUIRE_THROWS_WITH(dataset.get_batch(4),
                      Contains("The requested batch size does not match with the initialized batch size.\n The "
                               "requested batch size is 4, while the dataset is created with batch size equal to 5"));
}
