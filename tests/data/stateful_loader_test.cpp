// Tests loaders of stateful datasets, and the lifetime of iterators and loaders.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tandem/data/data.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;
using std::chrono::milliseconds;

namespace {

/// The numbers from 0 to `count`, for use by several threads. Detects a reset() during get_batch().
struct CountingDataset : datasets::StatefulDataset<CountingDataset, std::vector<int>> {
  CountingDataset(int count, int bad) : count(count), bad(bad) {}
  std::optional<std::vector<int>> get_batch(size_t wanted) override {
    ++at_work;
    std::vector<int> batch;
    {
      const std::lock_guard lock(mutex);
      while (batch.size() < wanted && next < count) batch.push_back(next++);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(batch.size() * 7919 % 300));
    --at_work;
    for (const int i : batch) TANDEM_CHECK(i != bad, "CountingDataset: there is no ", i);
    if (batch.empty()) return {};
    return batch;
  }
  std::optional<size_t> size() const override { return {}; }
  void reset() override {
    if (at_work != 0) disturbed = true;
    next = 0;
  }
  void save(serialize::OutputArchive&) const override {}
  void load(serialize::InputArchive&) override {}
  int count, bad, next = 0;
  std::mutex mutex;
  std::atomic<int> at_work{0};
  std::atomic<bool> disturbed{false};
};
auto numbers(int count, int bad = -1) { return datasets::make_shared_dataset<CountingDataset>(count, bad); }

/// A slow dataset that counts the examples that workers have started.
struct Slow : datasets::Dataset<Slow, int> {
  Slow(milliseconds each, std::atomic<int>& made) : each(each), made(&made) {}
  int get(size_t index) override {
    ++*made;
    std::this_thread::sleep_for(each);
    return static_cast<int>(index);
  }
  std::optional<size_t> size() const override { return 1000; }
  milliseconds each;
  std::atomic<int>* made;
};
using samplers::SequentialSampler;

}  // namespace

TEST_CASE("a loader of a stateful dataset goes on until the dataset says so", "[data][loader]") {
  const size_t workers = GENERATE(0, 1, 4);
  const bool ordered = GENERATE(true, false);
  auto dataset = numbers(31);
  auto loader = make_data_loader(dataset.map(transforms::Lambda<int>([](int i) { return 2 * i; })),
                                 DataLoaderOptions(4).workers(workers).enforce_ordering(ordered));
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::multiset<int> seen;
    for (std::vector<int>& batch : *loader) {
      REQUIRE(!batch.empty());
      seen.insert(batch.begin(), batch.end());
    }
    REQUIRE(seen.size() == 31);
    REQUIRE(std::set<int>(seen.begin(), seen.end()).size() == 31);
    REQUIRE(*seen.rbegin() == 60);
  }
  REQUIRE(!dataset->disturbed);
}

TEST_CASE("a stateful dataset is not reset while its batches are made", "[data][loader]") {
  auto dataset = numbers(1000);
  auto loader = make_data_loader(dataset, DataLoaderOptions(2).workers(3));
  for (int epoch = 0; epoch < 20; ++epoch) {
    auto at = loader->begin();
    for (int i = 0; i < epoch % 4; ++i) ++at;
    REQUIRE(at->size() == 2);
  }
  REQUIRE(!dataset->disturbed);
}

TEST_CASE("an exception of a stateful dataset reaches the consumer, and the rest comes", "[data][loader]") {
  const size_t workers = GENERATE(0, 2);
  auto loader = make_data_loader(numbers(12, /*bad=*/5), DataLoaderOptions(2).workers(workers));
  std::multiset<int> seen;
  int failures = 0;
  auto at = loader->begin();
  while (true) {
    try {
      if (at == loader->end()) break;
      seen.insert(at->begin(), at->end());
      ++at;
    } catch (const Error& e) {
      REQUIRE_THAT(e.what(), Contains("CountingDataset: there is no 5"));
      ++failures;
      ++at;
    }
  }
  REQUIRE(failures == 1);
  REQUIRE(std::set<int>(seen.begin(), seen.end()) == std::set<int>{0, 1, 2, 3, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("WorkerException begins as LibTorch's, and has the original exception", "[data][loader]") {
  const auto raised = std::make_exception_ptr(std::invalid_argument("badness"));
  const WorkerException plain(raised);
  REQUIRE(std::string(plain.what()) == "Caught exception in DataLoader worker thread. Original message: badness");
  REQUIRE(plain.message == plain.what());
  REQUIRE_THROWS_AS(std::rethrow_exception(plain.original_exception), std::invalid_argument);
  REQUIRE(WorkerException(raised, "the batch of examples 3").message ==
          plain.message + " [for the batch of examples 3]");
}

TEST_CASE("a loader tells its options, with max_jobs decided", "[data][loader]") {
  std::atomic<int> made{0};
  const auto options = [&](const DataLoaderOptions& given) {
    return make_data_loader<SequentialSampler>(Slow(milliseconds(0), made), given)->options();
  };
  const FullDataLoaderOptions defaults = options({});
  REQUIRE(defaults.batch_size == 1);
  REQUIRE(defaults.workers == 0);
  REQUIRE(defaults.max_jobs == 0);
  REQUIRE(!defaults.timeout);
  REQUIRE(defaults.enforce_ordering);
  REQUIRE(!defaults.drop_last);
  REQUIRE(options(DataLoaderOptions(3).workers(4)).max_jobs == 8);
  REQUIRE(options(DataLoaderOptions(3).workers(4).max_jobs(5)).max_jobs == 5);
  REQUIRE(options(DataLoaderOptions(3).timeout(milliseconds(7))).timeout == milliseconds(7));
}

TEST_CASE("no more batches are made in advance than max_jobs says", "[data][loader]") {
  std::atomic<int> made{0};
  auto loader =
      make_data_loader<SequentialSampler>(Slow(milliseconds(0), made), DataLoaderOptions(1).workers(2).max_jobs(3));
  auto at = loader->begin();
  REQUIRE(at->at(0) == 0);
  std::this_thread::sleep_for(milliseconds(20));
  REQUIRE(made <= 4);
  ++at;
  std::this_thread::sleep_for(milliseconds(20));
  REQUIRE(made <= 5);
}

TEST_CASE("copies of an iterator go on together; past its end it is refused", "[data][loader]") {
  const size_t workers = GENERATE(0, 2);
  auto loader = make_data_loader(numbers(4), DataLoaderOptions(2).workers(workers));
  auto at = loader->begin();
  auto copy = at;
  REQUIRE(at == copy);
  // With workers, either may be the first to ask the dataset for a batch.
  const bool in_order = *at == std::vector<int>{0, 1};
  REQUIRE((in_order || workers > 0));
  ++at;
  REQUIRE(*copy == (in_order ? std::vector<int>{2, 3} : std::vector<int>{0, 1}));
  REQUIRE(copy != loader->end());
  ++copy;
  REQUIRE(at == loader->end());
  REQUIRE(loader->end() == at);
  REQUIRE_THROWS_WITH(++at, Contains("Attempted to increment iterator past the end"));
  REQUIRE_THROWS_WITH(*at, Contains("Attempted to dereference iterator that was past the end"));
  REQUIRE_THROWS_WITH(at->size(), Contains("Attempted to dereference iterator that was past the end"));
  const Iterator<std::vector<int>> end;
  REQUIRE(end == at);
  REQUIRE_THROWS_WITH(*end, Contains("Dereferencing the DataLoader's past-the-end iterator is not allowed"));
}

TEST_CASE("an iterator of a loader that is gone, or was joined, cannot go on", "[data][loader]") {
  std::atomic<int> made{0};
  for (const size_t workers : {0, 2}) {
    auto loader =
        make_data_loader<SequentialSampler>(Slow(milliseconds(0), made), DataLoaderOptions().workers(workers));
    auto at = loader->begin();
    REQUIRE(at->at(0) == 0);
    loader->join();
    loader->join();
    if (workers > 0) {
      REQUIRE_THROWS_WITH(++at, Contains("join() has ended its workers"));
      REQUIRE_THROWS_WITH(loader->begin(), Contains("join() has ended its workers"));
    } else {
      ++at;
      REQUIRE(at->at(0) == 1);
    }
    loader = nullptr;
    REQUIRE_THROWS_WITH(++at, Contains("the loader was destroyed"));
    REQUIRE(at->size() == 1);  // the iterator keeps its current batch
  }
}

TEST_CASE("a loader with busy workers and much to do is destroyed at once", "[data][loader]") {
  std::atomic<int> made{0};
  const auto begun = std::chrono::steady_clock::now();
  {
    auto loader = make_data_loader<SequentialSampler>(Slow(milliseconds(30), made),
                                                      DataLoaderOptions(1).workers(2).max_jobs(500));
    auto at = loader->begin();
    while (made < 2) std::this_thread::yield();
  }
  REQUIRE(made < 100);
  REQUIRE(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5));
}

TEST_CASE("after a timeout the batch still comes", "[data][loader]") {
  std::atomic<int> made{0};
  auto loader = make_data_loader<SequentialSampler>(Slow(milliseconds(40), made),
                                                    DataLoaderOptions(1).workers(1).timeout(milliseconds(5)));
  auto at = loader->begin();
  std::optional<int> first;
  for (int tries = 0; !first && tries < 1000; ++tries) try {
      first = at->at(0);
    } catch (const Error&) {}  // on a busy machine there may be no timeout
  REQUIRE(first == 0);
}
