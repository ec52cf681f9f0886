// Tests Subset, random_split and ConcatDataset: their examples, stacked batches, random streams, and loaders.
#include <algorithm>
#include <numeric>

#include "tandem/core/generator.h"
#include "tandem/data/data.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/shape/cat.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::data;
using datasets::TensorDataset;
using datasets::TensorPairDataset;
using transforms::Stack;

namespace {

using List = std::vector<size_t>;

/// Example i has the data (10 i, 10 i + 1) and the target i.
TensorPairDataset make_pairs(int64_t n, int64_t first = 0) {
  const Tensor i = arange(first, first + n);
  return {(stack({i * 10, i * 10 + 1}, 1)).to(kFloat32), i};
}
/// Numbers 0 to n - 1 as plain ints.
struct Ints : datasets::Dataset<Ints, int> {
  explicit Ints(size_t n) : n(n) {}
  int get(size_t index) override { return static_cast<int>(index); }
  std::optional<size_t> size() const override { return n; }
  size_t n;
};
/// Example i has the target i, and data that is drawn at random.
struct Noisy : datasets::Dataset<Noisy> {
  explicit Noisy(int64_t n, int64_t first = 0) : n(n), first(first) {}
  Example<> get(size_t i) override { return {rand({1}), tensor(first + static_cast<int64_t>(i), kInt64)}; }
  std::optional<size_t> size() const override { return static_cast<size_t>(n); }
  int64_t n, first;
};
struct Unsized : datasets::Dataset<Unsized, int> {
  int get(size_t) override { return 0; }
  std::optional<size_t> size() const override { return {}; }
};

std::vector<int64_t> to_list(const Tensor& x) {
  const Tensor flat = x.to(kInt64).contiguous();
  return {flat.data<int64_t>(), flat.data<int64_t>() + flat.numel()};
}
List lengths_of(const auto& subsets) {
  List lengths;
  for (const auto& subset : subsets) lengths.push_back(*subset.size());
  return lengths;
}
/// Returns the indices of all subsets, one subset after another.
List indices_of(const auto& subsets) {
  List all;
  for (const auto& subset : subsets) all.insert(all.end(), subset.indices().begin(), subset.indices().end());
  return all;
}
bool is_permutation_of(List list, size_t n) {
  std::sort(list.begin(), list.end());
  List expected(n);
  std::iota(expected.begin(), expected.end(), size_t{0});
  return list == expected;
}
/// Returns the targets and the data of all batches of a loader, in order.
template <class Loader> std::pair<std::vector<int64_t>, std::vector<float>> read_epoch(Loader& loader) {
  std::pair<std::vector<int64_t>, std::vector<float>> all;
  for (auto& batch : *loader) {
    const std::vector<int64_t> targets = to_list(batch.target);
    all.first.insert(all.first.end(), targets.begin(), targets.end());
    const Tensor data = batch.data.contiguous();
    all.second.insert(all.second.end(), data.template data<float>(), data.template data<float>() + data.numel());
  }
  return all;
}

}  // namespace

TEST_CASE("a Subset has the examples at its indices, stacked or one by one", "[data][subsets]") {
  Subset subset(make_pairs(6), {5, 2, 2});
  REQUIRE(subset.size() == 3);
  REQUIRE(subset.indices() == List{5, 2, 2});
  REQUIRE(subset.get(0).target.item<int64_t>() == 5);
  const List order{2, 0};
  const Example<> stacked = subset.get_stacked(order);
  REQUIRE(stacked.target.equal(tensor({2, 5})));
  REQUIRE(stacked.data.equal(tensor({{20.f, 21.f}, {50.f, 51.f}})));
  auto mapped = subset.map(transforms::TensorLambda<>([](Tensor x) { return x * 2; })).map(Stack<>());
  REQUIRE(mapped.get_batch(order).data.equal(stacked.data * 2));
  REQUIRE(subset.map(Stack<>()).get_batch(order).data.equal(stacked.data));

  auto ints = Subset(Ints(5).map(transforms::Lambda<int>([](int i) { return 10 * i; })), {4, 0});
  REQUIRE(ints.get_batch(List{0, 1, 0}) == std::vector<int>{40, 0, 40});
  STATIC_REQUIRE_FALSE(datasets::detail::HasGet<decltype(ints)>);
  STATIC_REQUIRE_FALSE(datasets::detail::HasGetStacked<decltype(ints)>);
  auto nested = Subset(Subset(Ints(5), {4, 3, 2}), {2, 0});
  REQUIRE(nested.get_batch(List{0, 1}) == std::vector<int>{2, 4});
  auto shared = Subset(datasets::make_shared_dataset<TensorPairDataset>(make_pairs(3)), {1});
  REQUIRE(shared.map(Stack<>()).get_batch(List{0}).target.equal(tensor({1})));
  REQUIRE(Subset(Unsized(), {99}).get(0) == 0);  // the indices of a dataset without a size are not checked

  REQUIRE_THROWS_AS(Subset(Ints(5), {0, 5}), IndexError);
  REQUIRE_THROWS_WITH(Subset(Ints(5), {0, 5}), Contains("index 5") && Contains("size, 5"));
  REQUIRE_THROWS_AS(subset.get(3), IndexError);
  REQUIRE_THROWS_WITH(subset.get_batch(List{3}), Contains("index 3") && Contains("subset's size, 3"));
}

TEST_CASE("random_split divides a dataset by lengths or fractions, with PyTorch's remainders", "[data][subsets]") {
  const auto split = [](size_t n, const std::vector<double>& fractions) {
    return lengths_of(random_split(Ints(n), fractions, 1));
  };
  // Lengths that torch.utils.data.random_split gives for these fractions
  REQUIRE(split(10, {0.3, 0.3, 0.4}) == List{3, 3, 4});
  REQUIRE(split(11, {0.3, 0.3, 0.4}) == List{4, 3, 4});
  REQUIRE(split(17, {0.25, 0.25, 0.25, 0.25}) == List{5, 4, 4, 4});
  REQUIRE(split(19, {0.25, 0.25, 0.25, 0.25}) == List{5, 5, 5, 4});
  REQUIRE(split(7, {0.6, 0.3, 0.1}) == List{5, 2, 0});
  REQUIRE(split(3, {1.0}) == List{3});
  REQUIRE(split(0, {0.5, 0.5}) == List{0, 0});

  const auto parts = random_split(Ints(100), {70, 0, 30}, 4);
  REQUIRE(lengths_of(parts) == List{70, 0, 30});
  REQUIRE(is_permutation_of(indices_of(parts), 100));
  const List order = indices_of(parts);
  REQUIRE(indices_of(random_split(Ints(100), {0.7, 0.3}, 4)) == order);  // the seed determines the permutation
  REQUIRE(indices_of(random_split(Ints(100), {0.7, 0.3}, 5)) != order);

  manual_seed(9);
  const List first = indices_of(random_split(Ints(100), {0.7, 0.3})), next = indices_of(random_split(Ints(100), {1.0}));
  REQUIRE(first != next);
  manual_seed(9);
  random_split(Ints(100), {0.5, 0.5}, 123);  // a seed leaves the generator as it is
  REQUIRE(indices_of(random_split(Ints(100), {0.7, 0.3})) == first);

  REQUIRE_THROWS_WITH(random_split(Ints(10), {7, 2}), Contains("Sum of input lengths") && Contains("9 and 10"));
  REQUIRE_THROWS_WITH(random_split(Ints(10), {11, -1}), Contains("a length is -1"));
  REQUIRE_THROWS_WITH(random_split(Ints(10), {0.5, 0.4}), Contains("add up to 0.9"));
  REQUIRE_THROWS_WITH(random_split(Ints(10), {1.5, -0.5}), Contains("Fraction at index 0") && Contains("1.5"));
  REQUIRE_THROWS_WITH(random_split(Unsized(), {0.5, 0.5}), Contains("nullopt"));
}

TEST_CASE("random_split puts each example into a part with equal probability", "[data][subsets]") {
  // Each of 20 examples is in the first part with probability 1/4. Over 2,000 seeds the count is binomial, with
  // standard deviation 19.4; five of them are exceeded by one of 20 counts with probability 1e-5.
  std::vector<int> counts(20);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const auto parts = random_split(Ints(20), {5, 15}, seed);
    for (const size_t i : parts[0].indices()) ++counts[i];
  }
  for (const int count : counts) CHECK(std::abs(count - 500) < 97);
}

TEST_CASE("a ConcatDataset has the examples of all its datasets, stacked or one by one", "[data][subsets]") {
  ConcatDataset all(make_pairs(3), Subset(make_pairs(10), {9, 8}), make_pairs(2, 20));
  REQUIRE(all.size() == 7);
  REQUIRE(all.cumulative_sizes() == List{3, 5, 7});
  const List order{6, 0, 4, 5, 2, 3, 0};
  const Example<> stacked = all.get_stacked(order);
  REQUIRE(stacked.target.equal(tensor({21, 0, 8, 20, 2, 9, 0})));
  REQUIRE(stacked.data.equal(
      tensor({{210.f, 211.f}, {0.f, 1.f}, {80.f, 81.f}, {200.f, 201.f}, {20.f, 21.f}, {90.f, 91.f}, {0.f, 1.f}})));
  const Example<> listed = Stack<>().apply_batch(all.get_batch(order));
  REQUIRE(listed.data.equal(stacked.data));
  REQUIRE(listed.target.equal(stacked.target));
  REQUIRE(all.get(4).target.item<int64_t>() == 8);
  REQUIRE(all.get_stacked(List{1, 0}).target.equal(tensor({1, 0})));  // of one dataset
  REQUIRE(all.get_stacked(List{}).data.sizes() == IntArrayRef{0, 2});
  REQUIRE(all.map(Stack<>()).get_batch(order).data.equal(stacked.data));

  ConcatDataset rows(
      std::vector<TensorDataset>{TensorDataset(arange(4).view({2, 2})), TensorDataset(arange(2).view({1, 2}))});
  STATIC_REQUIRE(std::is_same_v<decltype(rows), ConcatDataset<TensorDataset>>);
  REQUIRE(rows.get_stacked(List{2, 1}).data.equal(tensor({{0, 1}, {2, 3}})));
  ConcatDataset ints(Ints(2), Ints(3).map(transforms::Lambda<int>([](int i) { return -i; })), Ints(1));
  REQUIRE(ints.get_batch(List{0, 1, 2, 3, 4, 5}) == std::vector<int>{0, 1, 0, -1, -2, 0});
  STATIC_REQUIRE_FALSE(datasets::detail::HasGetStacked<decltype(ints)>);
  REQUIRE(ConcatDataset(Ints(0), Ints(2)).get(1) == 1);  // skips empty datasets

  Tensor grown = arange(4, kFloat32).view({2, 2}).requires_grad_();
  ConcatDataset with_gradient(TensorDataset(grown), TensorDataset(arange(2, kFloat32).view({1, 2})));
  with_gradient.get_stacked(List{2, 1, 1}).data.sum().backward();
  REQUIRE(grown.grad().equal(tensor({{0.f, 0.f}, {2.f, 2.f}})));

  REQUIRE_THROWS_AS(all.get(7), IndexError);
  REQUIRE_THROWS_WITH(all.get_stacked(List{7}), Contains("index 7") && Contains("sum of the sizes, 7"));
  REQUIRE_THROWS_WITH(ConcatDataset(Ints(1), Unsized()), Contains("size() of dataset 1 is nullopt"));
  REQUIRE_THROWS_WITH(ConcatDataset(std::vector<Ints>()), Contains("empty"));
  ConcatDataset unequal(TensorDataset(arange(4).view({2, 2})), TensorDataset(arange(3).view({1, 3})));
  REQUIRE_THROWS_WITH(unequal.map(Stack<TensorExample>()).get_batch(List{0, 2}), Contains("(2,)") && Contains("(3,)"));
  ConcatDataset mixed(TensorDataset(arange(4).view({2, 2})), TensorDataset(rand({1, 2})));
  REQUIRE_THROWS_WITH(mixed.get_stacked(List{0, 2}), Contains("int64") && Contains("float32"));
}

TEST_CASE("parts and joined datasets load alike with any number of workers and on any rank", "[data][subsets]") {
  const auto noisy = [] { return ConcatDataset(random_split(Noisy(14), {10, 4}, 3)[0], Noisy(6, 100)); };
  std::vector<std::pair<std::vector<int64_t>, std::vector<float>>> epochs;
  for (const size_t workers : {0, 1, 3})
    for (const size_t batch : {1, 4}) {
      manual_seed(2);
      auto loader =
          make_data_loader<samplers::RandomSampler>(noisy().map(Stack<>()), DataLoaderOptions(batch).workers(workers));
      epochs.push_back(read_epoch(loader));
    }
  REQUIRE(epochs[0].first.size() == 16);
  for (const auto& epoch : epochs) CHECK(epoch == epochs[0]);
  std::vector<float> drawn = epochs[0].second;
  std::sort(drawn.begin(), drawn.end());
  CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());

  // Two ranks that split by the same seed see each example of the first part once per epoch.
  std::vector<int64_t> seen;
  for (const size_t rank : {0, 1}) {
    auto loader = make_data_loader(random_split(make_pairs(20), {0.5, 0.5}, 7)[0].map(Stack<>()),
                                   samplers::ShardSampler(10, 2, rank), DataLoaderOptions(3));
    const std::vector<int64_t> some = read_epoch(loader).first;
    REQUIRE(some.size() == 5);
    seen.insert(seen.end(), some.begin(), some.end());
  }
  const auto first_part = random_split(make_pairs(20), {0.5, 0.5}, 7)[0];
  std::vector<int64_t> expected(first_part.indices().begin(), first_part.indices().end());
  std::sort(seen.begin(), seen.end());
  std::sort(expected.begin(), expected.end());
  CHECK(seen == expected);
}
