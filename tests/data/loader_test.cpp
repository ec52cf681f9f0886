#include <atomic>
#include <set>
#include <thread>

#include "tandem/core/generator.h"
#include "tandem/data/data.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/random/randint.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;
using datasets::TensorDataset;
using datasets::TensorPairDataset;
using samplers::SequentialSampler;
using transforms::Stack;

namespace {

/// n examples: data (i, i + 0.5), target i
auto rows(int64_t n) {
  Tensor x = core::empty({n, 2}, kFloat32, kCPU), y = core::empty({n}, kInt64, kCPU);
  for (int64_t i = 0; i < n; ++i) {
    x.data<float>()[2 * i] = static_cast<float>(i);
    x.data<float>()[2 * i + 1] = static_cast<float>(i) + 0.5f;
    y.data<int64_t>()[i] = i;
  }
  return TensorPairDataset(x, y);
}

/// A dataset as in LibTorch's documentation: get() makes one example.
struct Squares : datasets::Dataset<Squares> {
  explicit Squares(size_t n, size_t bad = SIZE_MAX) : n(n), bad(bad) {}
  Example<> get(size_t i) override {
    TANDEM_CHECK(i != bad, "Squares: no square of ", i);
    std::this_thread::sleep_for(std::chrono::microseconds(i * 7919 % 300));  // workers finish out of order
    return {core::scalar(static_cast<double>(i * i), kFloat32, kCPU),
            core::scalar(static_cast<int64_t>(i), kInt64, kCPU)};
  }
  std::optional<size_t> size() const override { return n; }
  size_t n, bad;
};

template <class Loader> std::vector<std::vector<int64_t>> targets_of(Loader& loader) {
  std::vector<std::vector<int64_t>> all;
  for (auto& batch : *loader) {
    REQUIRE(batch.data.size(0) == batch.target.size(0));
    const int64_t* t = batch.target.template data_ptr<int64_t>();
    all.emplace_back(t, t + batch.target.numel());
  }
  return all;
}
using Batches = std::vector<std::vector<int64_t>>;

}  // namespace

TEST_CASE("a loader gives every batch in order, by any number of workers", "[data][loader]") {
  const size_t workers = GENERATE(0, 1, 2, 5);
  const auto options = DataLoaderOptions().batch_size(3).workers(workers);
  auto stacked = make_data_loader<SequentialSampler>(Squares(8).map(Stack<>()), options);
  auto gathered = make_data_loader<SequentialSampler>(rows(8).map(Stack<>()), options);
  for (int epoch = 0; epoch < 3; ++epoch) {
    REQUIRE(targets_of(stacked) == Batches{{0, 1, 2}, {3, 4, 5}, {6, 7}});
    REQUIRE(targets_of(gathered) == Batches{{0, 1, 2}, {3, 4, 5}, {6, 7}});
  }
}

TEST_CASE("without ordering every batch still comes once", "[data][loader]") {
  auto loader = make_data_loader<SequentialSampler>(
      Squares(50).map(Stack<>()), DataLoaderOptions(3).workers(4).enforce_ordering(false).max_jobs(7));
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::multiset<int64_t> seen;
    for (const auto& batch : targets_of(loader)) seen.insert(batch.begin(), batch.end());
    REQUIRE(seen.size() == 50);
    REQUIRE(std::set<int64_t>(seen.begin(), seen.end()).size() == 50);
  }
}

TEST_CASE("odd sizes: smaller than a batch, a last batch of one, nothing at all", "[data][loader]") {
  const size_t workers = GENERATE(0, 2);
  const auto options = [&](size_t batch) { return DataLoaderOptions(batch).workers(workers); };
  const auto load = [&](int64_t n, DataLoaderOptions o) {
    auto loader = make_data_loader<SequentialSampler>(rows(n).map(Stack<>()), o);
    return targets_of(loader);
  };
  REQUIRE(load(3, options(64)) == Batches{{0, 1, 2}});
  REQUIRE(load(3, options(64).drop_last(true)).empty());
  REQUIRE(load(3, options(2)) == Batches{{0, 1}, {2}});
  REQUIRE(load(3, options(2).drop_last(true)) == Batches{{0, 1}});
  REQUIRE(load(4, options(2).drop_last(true)) == Batches{{0, 1}, {2, 3}});
  REQUIRE(load(0, options(2)).empty());
}

TEST_CASE("the default sampler is random, and all of it comes", "[data][loader]") {
  manual_seed(1);
  auto loader = make_data_loader(rows(40).map(Stack<>()), 40);
  const auto first = targets_of(loader), second = targets_of(loader);
  REQUIRE(first.at(0) != second.at(0));
  REQUIRE(std::set<int64_t>(first[0].begin(), first[0].end()).size() == 40);
}

TEST_CASE("a loader takes a sampler that was made for it", "[data][loader]") {
  auto loader = make_data_loader(rows(10).map(Stack<>()), samplers::ShardSampler(10, 4, 1, {.shuffle = false}), 2);
  REQUIRE(targets_of(loader) == Batches{{1, 5}, {9}});
}

TEST_CASE("an exception in a worker reaches the consumer with its context", "[data][loader]") {
  const bool ordered = GENERATE(true, false);
  auto loader = make_data_loader<SequentialSampler>(Squares(20, /*bad=*/7).map(Stack<>()),
                                                    DataLoaderOptions(2).workers(2).enforce_ordering(ordered));
  REQUIRE_THROWS_WITH(targets_of(loader), Contains("examples 6, 7") && Contains("Squares: no square of 7"));
  REQUIRE_THROWS_AS(targets_of(loader), WorkerException);  // the loader can be iterated again, and fails again
  auto inline_loader = make_data_loader<SequentialSampler>(Squares(20, 7).map(Stack<>()), 2);
  REQUIRE_THROWS_WITH(targets_of(inline_loader), Contains("Squares: no square of 7"));
}

TEST_CASE("a loader may be left, begun again, or destroyed at any time", "[data][loader]") {
  for (int i = 0; i < 30; ++i) {
    auto loader = make_data_loader<SequentialSampler>(Squares(30).map(Stack<>()), DataLoaderOptions(2).workers(3));
    int seen = 0;
    for (auto& batch : *loader) {
      REQUIRE(batch.data.size(0) == 2);
      if (seen++ == i % 5) break;
    }
    if (i % 2) REQUIRE(targets_of(loader).size() == 15);
    if (i % 3 == 0) loader->begin();
  }
  make_data_loader<SequentialSampler>(Squares(30).map(Stack<>()), DataLoaderOptions(2).workers(3));
}

TEST_CASE("waiting beyond the timeout is an error", "[data][loader]") {
  struct Held : datasets::Dataset<Held> {
    explicit Held(std::atomic<bool>& released) : released(&released) {}
    Example<> get(size_t) override {
      while (!*released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {core::scalar(0, kFloat32, kCPU), core::scalar(0, kInt64, kCPU)};
    }
    std::optional<size_t> size() const override { return 1; }
    std::atomic<bool>* released;
  };
  std::atomic<bool> released{false};
  auto loader = make_data_loader<SequentialSampler>(
      Held(released).map(Stack<>()), DataLoaderOptions(1).workers(1).timeout(std::chrono::milliseconds(5)));
  auto at = loader->begin();
  try {
    REQUIRE_THROWS_WITH(*at, Contains("Timeout in DataLoader queue while waiting for next batch (timeout was 5 ms)"));
  } catch (...) {
    released = true;  // destroying the loader waits for its workers
    throw;
  }
  released = true;
}

TEST_CASE("options that make no sense are refused", "[data][loader]") {
  REQUIRE_THROWS_WITH(make_data_loader(rows(1), 0), Contains("batch_size is 0"));
  REQUIRE_THROWS_WITH(make_data_loader(rows(1), DataLoaderOptions(1).workers(1).max_jobs(0)),
                      Contains("max_jobs is 0"));
  auto loader = make_data_loader(rows(1).map(Stack<>()), 1);
  auto end = loader->end();
  REQUIRE_THROWS_WITH(++end, Contains("Incrementing the DataLoader's past-the-end iterator is not allowed"));
  REQUIRE_THROWS_WITH(*loader->end(), Contains("Dereferencing the DataLoader's past-the-end iterator is not allowed"));
}

TEST_CASE("workers take over the context of the thread that made the loader", "[data][loader]") {
  ThreadContext context;
  context.rank = std::make_shared<RankState>();
  context.grad_enabled = false;
  const ThreadContextGuard guard(context);
  std::atomic<int> wrong{0};
  const auto check = [rank = ThreadContext::current().rank, &wrong](Tensor x) {
    if (ThreadContext::current().rank != rank || is_grad_enabled()) ++wrong;
    return x;
  };
  auto loader = make_data_loader<SequentialSampler>(rows(9).map(transforms::TensorLambda<>(check)).map(Stack<>()),
                                                    DataLoaderOptions(2).workers(2));
  REQUIRE(targets_of(loader).size() == 5);
  REQUIRE(wrong == 0);
}

TEST_CASE("Normalize gives the same batch example by example and gathered", "[data][transforms]") {
  Tensor x = core::empty({4, 3, 2, 2}, kFloat32, kCPU), y = core::empty({4}, kInt64, kCPU);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = static_cast<float>(i) / 7;
  for (int64_t i = 0; i < 4; ++i) y.data<int64_t>()[i] = i;
  const transforms::Normalize<> normalize({0.1, 0.2, 0.3}, {0.5, 0.25, 2.0});
  const auto same = [](Example<> e) { return e; };
  auto fast = TensorPairDataset(x, y).map(normalize).map(Stack<>());
  auto slow = TensorPairDataset(x, y).map(transforms::Lambda<Example<>>(same)).map(normalize).map(Stack<>());
  STATIC_REQUIRE(datasets::HasGetStacked<decltype(TensorPairDataset(x, y).map(normalize))>);
  STATIC_REQUIRE_FALSE(
      datasets::HasGetStacked<decltype(TensorPairDataset(x, y).map(transforms::Lambda<Example<>>(same)))>);
  const std::vector<size_t> indices{3, 1, 1};
  const Example<> a = fast.get_batch(indices), b = slow.get_batch(indices);
  REQUIRE(a.data.sizes() == IntArrayRef{3, 3, 2, 2});
  REQUIRE(a.data.sizes() == b.data.sizes());
  for (int64_t i = 0; i < a.data.numel(); ++i) REQUIRE(a.data.data_ptr<float>()[i] == b.data.data_ptr<float>()[i]);
  REQUIRE(a.data.data_ptr<float>()[4] == (x.data<float>()[3 * 12 + 4] - 0.2f) / 0.25f);
  const transforms::Normalize<> mnist(0.1307, 0.3081);
  REQUIRE(TensorPairDataset(x, y).map(mnist).map(Stack<>()).get_batch(indices).data.sizes() == IntArrayRef{3, 3, 2, 2});
}

TEST_CASE("datasets and Stack refuse what does not fit", "[data][dataset]") {
  const Tensor two = zeros({2, 3}), three = zeros({3});
  REQUIRE_THROWS_WITH(TensorPairDataset(two, three),
                      Contains("(2, 3)") && Contains("(3,)") && Contains("same number of rows"));
  REQUIRE_THROWS_WITH(TensorPairDataset(zeros({}), three), Contains("scalar"));
  REQUIRE_THROWS_AS(rows(2).map(Stack<>()).get_batch(std::vector<size_t>{2}), IndexError);
  REQUIRE_THROWS_WITH(
      Stack<>().apply_batch({{two, three}, {three, three}}),
      Contains("stack expects each tensor to be equal size, but got (2, 3) at entry 0 and (3,) at entry 1"));
  REQUIRE_THROWS_WITH(Stack<>().apply_batch({}), Contains("stack expects a non-empty TensorList"));
}

TEST_CASE("a TensorDataset of one tensor gives tensors", "[data][dataset]") {
  auto dataset = TensorDataset(zeros({3, 2}));
  Tensor one = dataset.get(1);
  REQUIRE(one.sizes() == IntArrayRef{2});
  auto stacked = dataset.map(Stack<TensorExample>());
  REQUIRE(stacked.get_batch(std::vector<size_t>{0, 2}).data.sizes() == IntArrayRef{2, 2});
  REQUIRE(TensorDataset(std::vector<Tensor>{zeros({2}), zeros({2})}).size() == 2);
}

TEST_CASE("rows that need a gradient, or are views, stack and gather through ops", "[data][dataset]") {
  const Tensor w = ones({2, 3}).requires_grad_();
  const Tensor stacked = stack_rows(std::vector<Tensor>{w[0], w[1], w[0]});
  REQUIRE(stacked.requires_grad());
  stacked.sum().backward();
  REQUIRE(w.grad().sum().item<float>() == 9);
  REQUIRE(w.grad().select(0, 0).sum().item<float>() == 6);
  REQUIRE(gather_rows(w, std::vector<size_t>{1, 1}).requires_grad());
  const Tensor view = arange(6).view({2, 3}).t();
  const Tensor gathered = gather_rows(view, std::vector<size_t>{2, 0});
  REQUIRE(gathered.equal(tensor({{2, 5}, {0, 3}})));
}

TEST_CASE("an iterator of an earlier epoch keeps its batch but cannot go on", "[data][loader]") {
  const size_t workers = GENERATE(0, 2);
  auto loader = make_data_loader<SequentialSampler>(rows(6).map(Stack<>()), DataLoaderOptions(2).workers(workers));
  auto first = loader->begin();
  ++first;
  auto second = loader->begin();
  REQUIRE(first->target.data_ptr<int64_t>()[0] == 2);
  REQUIRE_THROWS_WITH(++first, Contains("begin() was called again"));
  REQUIRE(second->target.data_ptr<int64_t>()[0] == 0);
  ++second;
  REQUIRE(second->target.data_ptr<int64_t>()[0] == 2);
}

TEST_CASE("after a failed batch the same iterator goes on with the next", "[data][loader]") {
  const size_t workers = GENERATE(0, 1, 3);
  auto loader =
      make_data_loader<SequentialSampler>(Squares(8, /*bad=*/3).map(Stack<>()), DataLoaderOptions(2).workers(workers));
  auto at = loader->begin();
  REQUIRE_THROWS_WITH(++at, Contains("no square of 3"));
  ++at;
  REQUIRE(at->target.data_ptr<int64_t>()[0] == 4);
}

TEST_CASE("a worker may throw anything, even the last batch", "[data][loader]") {
  struct Odd : datasets::Dataset<Odd> {
    Example<> get(size_t i) override {
      if (i == 4) throw 42;
      return {core::scalar(0, kFloat32, kCPU), core::scalar(0, kInt64, kCPU)};
    }
    std::optional<size_t> size() const override { return 5; }
  };
  auto loader = make_data_loader<SequentialSampler>(Odd().map(Stack<>()), DataLoaderOptions(1).workers(8));
  try {
    targets_of(loader);
    FAIL("nothing was thrown");
  } catch (const WorkerException& e) {
    REQUIRE_THAT(e.what(), Contains("examples 4") && Contains("not a std::exception"));
    REQUIRE_THROWS_AS(std::rethrow_exception(e.original_exception), int);
  }
}

TEST_CASE("two loaders run at once, and a batch outlives its loader", "[data][loader]") {
  Example<> kept;
  {
    auto a = make_data_loader<SequentialSampler>(Squares(9).map(Stack<>()), DataLoaderOptions(4).workers(2));
    auto b = make_data_loader<SequentialSampler>(rows(9).map(Stack<>()), DataLoaderOptions(4).workers(2));
    auto i = a->begin();
    auto j = b->begin();
    for (; i != a->end() && j != b->end(); ++i, ++j) {
      REQUIRE(i->target.equal(j->target));
      kept = *j;
    }
    REQUIRE(i == a->end());
    REQUIRE(j == b->end());
  }
  REQUIRE(kept.data.sizes() == IntArrayRef{1, 2});
  REQUIRE(kept.target.data_ptr<int64_t>()[0] == 8);
}

TEST_CASE("set_epoch reshuffles a loader's epochs, and the ranks still share the examples", "[data][loader]") {
  const size_t size = 23, world = 3;
  std::vector<Batches> of_epoch;
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<int64_t> all;
    Batches lists;
    for (size_t rank = 0; rank < world; ++rank) {
      auto loader = make_data_loader(rows(size).map(Stack<>()),
                                     samplers::ShardSampler(size, world, rank, {.drop_last = false, .pad = false}),
                                     DataLoaderOptions(4).workers(1));
      for (size_t earlier = 0; earlier < epoch; ++earlier) {  // earlier epochs must not change the order of this one
        loader->sampler().set_epoch(earlier);
        targets_of(loader);
      }
      loader->sampler().set_epoch(epoch);
      lists.emplace_back();
      for (const auto& batch : targets_of(loader))
        for (const int64_t i : batch) lists.back().push_back(i), all.insert(i);
    }
    REQUIRE(all.size() == size);
    REQUIRE(std::set<int64_t>(all.begin(), all.end()).size() == size);
    for (const Batches& other : of_epoch) REQUIRE(other != lists);
    of_epoch.push_back(lists);
  }
}
