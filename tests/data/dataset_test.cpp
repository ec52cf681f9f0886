// Tests datasets of all types and the transforms on them, without a loader.
#include <sstream>

#include "tandem/data/data.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;

namespace {

/// The numbers 0 to 9 as plain ints. Examples need not be tensors.
struct Digits : datasets::Dataset<Digits, int> {
  int get(size_t index) override { return static_cast<int>(index); }
  std::optional<size_t> size() const override { return 10; }
};
struct CountingStream : datasets::StreamDataset<CountingStream, std::vector<int>> {
  std::vector<int> get_batch(size_t count) override {
    std::vector<int> batch;
    for (size_t i = 0; i < count; ++i) batch.push_back(next++);
    return batch;
  }
  std::optional<size_t> size() const override { return {}; }
  int next = 0;
};
/// Returns 0, 1, ..., 6, and then ends its epoch.
struct Countdown : datasets::StatefulDataset<Countdown, std::vector<int>> {
  std::optional<std::vector<int>> get_batch(size_t count) override {
    std::vector<int> batch;
    while (batch.size() < count && next < 7) batch.push_back(next++);
    if (batch.empty()) return {};
    return batch;
  }
  std::optional<size_t> size() const override { return {}; }
  void reset() override { next = 0, ++resets; }
  void save(serialize::OutputArchive& archive) const override { archive.write("next", IValue(int64_t{next})); }
  void load(serialize::InputArchive& archive) override {
    IValue value;
    archive.read("next", value);
    next = static_cast<int>(value.toInt());
  }
  int next = 0, resets = 0;
};
const std::vector<size_t> kSome{2, 5, 3};

}  // namespace

TEST_CASE("examples need be no tensors, and maps may change their type", "[data][dataset]") {
  auto dataset = Digits()
                     .map(transforms::Lambda<int>([](int i) { return 10 * i; }))
                     .map(transforms::Lambda<int, std::string>([](int i) { return std::to_string(i); }));
  REQUIRE(dataset.size() == 10);
  REQUIRE(dataset.get_batch(kSome) == std::vector<std::string>{"20", "50", "30"});
  STATIC_REQUIRE_FALSE(decltype(dataset)::is_stateful);
  STATIC_REQUIRE(std::is_same_v<decltype(dataset)::BatchType, std::vector<std::string>>);

  auto sums = Digits().map(transforms::BatchLambda<std::vector<int>, int>([](std::vector<int> batch) {
    int sum = 0;
    for (const int i : batch) sum += i;
    return sum;
  }));
  REQUIRE(sums.get_batch(kSome) == 10);
  auto longest = Digits().map(transforms::Collate<int>([](std::vector<int> batch) { return batch.at(0); }));
  REQUIRE(longest.get_batch(kSome) == 2);
}

TEST_CASE("map of an lvalue copies it, and the free map is the same", "[data][dataset]") {
  CountingStream stream;
  auto doubled = stream.map(transforms::Lambda<int>([](int i) { return 2 * i; }));
  REQUIRE(doubled.get_batch(3) == std::vector<int>{0, 2, 4});
  REQUIRE(stream.get_batch(2) == std::vector<int>{0, 1});
  REQUIRE(doubled.dataset().next == 3);
  auto again = datasets::map(stream, transforms::Lambda<int>([](int i) { return -i; }));
  REQUIRE(again.get_batch(2) == std::vector<int>{-2, -3});
}

TEST_CASE("a shared dataset is one, however often it is copied", "[data][dataset]") {
  auto shared = datasets::make_shared_dataset<CountingStream>();
  auto copy = shared;
  REQUIRE(shared.get_batch(2) == std::vector<int>{0, 1});
  REQUIRE(copy.get_batch(2) == std::vector<int>{2, 3});
  REQUIRE(copy->next == 4);
  REQUIRE((*shared).next == 4);
  REQUIRE(!shared.size());
  REQUIRE(shared.map(transforms::Lambda<int>([](int i) { return 10 * i; })).get_batch(1) == std::vector<int>{40});
  using Shared = datasets::SharedBatchDataset<CountingStream>;
  REQUIRE_THROWS_WITH(Shared(std::shared_ptr<CountingStream>()), Contains("null"));

  auto rows = datasets::make_shared_dataset<datasets::TensorPairDataset>(arange(6).view({3, 2}), arange(3));
  const Example<> batch = rows.map(transforms::Stack<>()).get_batch(std::vector<size_t>{2, 0});
  REQUIRE(batch.data.equal(tensor({{4, 5}, {0, 1}})));
  REQUIRE(batch.target.equal(tensor({2, 0})));
}

TEST_CASE("a stateful dataset ends by itself, and so does what is mapped of it", "[data][dataset]") {
  auto tens = datasets::make_shared_dataset<Countdown>().map(transforms::Lambda<int>([](int i) { return 10 * i; }));
  using Tens = decltype(tens);
  STATIC_REQUIRE(Tens::is_stateful);
  STATIC_REQUIRE(std::is_same_v<Tens::BatchType, std::optional<std::vector<int>>>);
  for (int epoch = 0; epoch < 2; ++epoch) {
    tens.reset();
    REQUIRE(tens.get_batch(4) == std::vector<int>{0, 10, 20, 30});
    REQUIRE(tens.get_batch(4) == std::vector<int>{40, 50, 60});
    REQUIRE(tens.get_batch(4) == std::nullopt);
  }
  REQUIRE(tens.dataset()->resets == 2);
}

TEST_CASE("torch::save and load take stateful datasets", "[data][dataset]") {
  Countdown dataset, other;
  dataset.get_batch(3);
  std::stringstream file;
  save(dataset, file);
  load(other, file);
  REQUIRE(other.get_batch(9) == std::vector<int>{3, 4, 5, 6});
}

TEST_CASE("a TensorDataset is the rows of one tensor", "[data][dataset]") {
  datasets::TensorDataset dataset(arange(6, kFloat32).view({3, 2}));
  STATIC_REQUIRE(std::is_same_v<datasets::TensorDataset::ExampleType, TensorExample>);
  const Tensor row = dataset.get_batch(std::vector<size_t>{1}).at(0);
  REQUIRE(row.equal(tensor({2.f, 3.f})));
  REQUIRE(dataset.tensor.size(0) == 3);
  const datasets::TensorDataset listed({tensor({1, 2}), tensor({3, 4}), tensor({5, 6})});
  REQUIRE(listed.tensor.equal(tensor({{1, 2}, {3, 4}, {5, 6}})));
  REQUIRE_THROWS_WITH(datasets::TensorDataset(tensor(1.f)), Contains("TensorDataset: data is a scalar"));
  REQUIRE_THROWS_AS(dataset.get(3), IndexError);
}

TEST_CASE("transforms of tensors leave targets as they are", "[data][transforms]") {
  struct Negate : transforms::TensorTransform<int> {
    Tensor operator()(Tensor input) override { return -input; }
  };
  const Example<Tensor, int> example(tensor({1.f, 2.f}), 7);
  REQUIRE(Negate().apply(example).data.equal(tensor({-1.f, -2.f})));
  REQUIRE(Negate().apply(example).target == 7);
  transforms::TensorLambda<int> twice([](Tensor x) { return x * 2; });
  REQUIRE(twice.apply(example).data.equal(tensor({2.f, 4.f})));

  transforms::Normalize<int> normalize({1.0, 2.0}, {0.5, 4.0});
  REQUIRE(normalize.mean.sizes() == IntArrayRef{2, 1, 1});
  REQUIRE(normalize.stddev.sizes() == IntArrayRef{2, 1, 1});
  const Tensor x = tensor({3.f, 10.f}).view({2, 1, 1});
  const auto normalized = normalize.apply(Example<Tensor, int>(x, 1));
  REQUIRE(normalized.data.view({2}).equal(tensor({4.f, 2.f})));
  REQUIRE(normalized.target == 1);
  REQUIRE(transforms::Stack<TensorExample>().apply_batch({x, x}).data.sizes() == IntArrayRef{2, 2, 1, 1});
}
