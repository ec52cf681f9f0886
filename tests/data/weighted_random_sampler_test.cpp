// Tests WeightedRandomSampler: the distribution of its draws, its own random stream, and its saved state.
#include "tandem/data/samplers/weighted_random_sampler.h"

#include <sstream>

#include "tandem/core/generator.h"
#include "tandem/data/data.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/rand.h"
#include "tandem/serialize/module.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

using data::samplers::WeightedRandomSampler;
using List = std::vector<size_t>;

List rest_of(WeightedRandomSampler& sampler, size_t batch_size = 7) {
  List all;
  while (auto batch = sampler.next(batch_size)) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}
std::string saved(const WeightedRandomSampler& sampler) {
  std::ostringstream file;
  save(sampler, file);
  return file.str();
}
void restore(WeightedRandomSampler& sampler, const std::string& file) { load(sampler, file.data(), file.size()); }

}  // namespace

TEST_CASE("WeightedRandomSampler draws in proportion to the weights", "[data][samplers]") {
  const std::vector<double> weights{1, 0, 3, 0.5, 5.5};
  constexpr int kDraws = 40000;
  WeightedRandomSampler sampler(weights, kDraws, /*replacement=*/true, /*seed=*/1);
  std::vector<int> counts(5);
  for (const size_t i : rest_of(sampler)) ++counts.at(i);
  CHECK(counts[1] == 0);
  for (size_t i = 0; i < 5; ++i) {
    const double p = weights[i] / 10, deviation = std::sqrt(kDraws * p * (1 - p));
    CHECK(std::abs(counts[i] - kDraws * p) <= 5 * deviation);  // of a binomial: exceeded with probability 6e-7
  }
}

TEST_CASE("WeightedRandomSampler without replacement draws an index at most once", "[data][samplers][one_thread]") {
  // The first of two indices without replacement is index 0 with probability w0 / (w0 + w1 + w2) = 1/6, and index 0 is
  // the second with probability 2/6 * 1/4 + 3/6 * 1/3.
  int first = 0, second = 0;
  WeightedRandomSampler sampler({1., 2., 3., 0.}, 2, /*replacement=*/false, /*seed=*/3);
  constexpr int kEpochs = 4000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    sampler.reset();
    const List drawn = rest_of(sampler);
    REQUIRE(drawn.size() == 2);
    REQUIRE(drawn[0] != drawn[1]);
    REQUIRE((drawn[0] < 3 && drawn[1] < 3));
    first += drawn[0] == 0;
    second += drawn[1] == 0;
  }
  const auto expect = [&](int count, double p) {
    CHECK(std::abs(count - kEpochs * p) <= 5 * std::sqrt(kEpochs * p * (1 - p)));
  };
  expect(first, 1. / 6);
  expect(second, 2. / 6 / 4 + 3. / 6 / 3);
}

TEST_CASE("WeightedRandomSampler has its own stream, from a seed or from the generator", "[data][samplers]") {
  const Tensor weights = rand({50});
  const auto epochs = [&](std::optional<uint64_t> seed) {
    WeightedRandomSampler sampler(weights, 30, true, seed);
    std::vector<List> drawn{rest_of(sampler)};
    for (int i = 0; i < 2; ++i) {
      rand({100});  // draws of the model have no effect
      sampler.reset();
      drawn.push_back(rest_of(sampler));
    }
    return drawn;
  };
  const auto first = epochs(4);
  CHECK(first[0] != first[1]);
  CHECK(first[1] != first[2]);
  CHECK(epochs(4) == first);
  CHECK(epochs(5) != first);
  manual_seed(1);
  const auto drawn = epochs({}), other = epochs({});
  CHECK(drawn != other);
  manual_seed(1);
  CHECK(epochs({}) == drawn);
  manual_seed(1);
  const Tensor expected = rand({1});
  manual_seed(1);
  WeightedRandomSampler(weights, 30, true, 9);
  CHECK(rand({1}).equal(expected));  // a sampler with a seed leaves the generator as it is
}

TEST_CASE("WeightedRandomSampler goes on from every position, in later epochs too", "[data][samplers]") {
  const std::vector<double> weights{1, 2, 3, 4, 5};
  for (size_t place = 0; place <= 6; ++place) {
    WeightedRandomSampler sampler(weights, 6, true, 1), other(weights, 6, true, 2);
    sampler.reset();
    for (size_t i = 0; i < place; ++i) REQUIRE(sampler.next(1));
    const std::string file = saved(sampler);
    restore(other, file);
    CHECK(other.index() == place);
    CHECK(saved(other) == file);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const List rest = rest_of(other);
      CHECK(rest.size() == (epoch == 0 ? 6 - place : 6));
      CHECK(rest == rest_of(sampler));
      other.reset();
      sampler.reset();
    }
  }
}

TEST_CASE("a loader with a WeightedRandomSampler resumes with other workers", "[data][samplers]") {
  const auto make = [](size_t workers) {
    return data::make_data_loader(
        data::datasets::TensorDataset(arange(20)).map(data::transforms::Stack<data::TensorExample>()),
        WeightedRandomSampler(arange(20) + 1, 10, true, 5), data::DataLoaderOptions(3).workers(workers));
  };
  const auto read = [](auto& loader, size_t epochs) {
    List all;
    for (size_t e = 0; e < epochs; ++e)
      for (auto& batch : *loader)
        all.insert(all.end(), batch.data.template data<int64_t>(),
                   batch.data.template data<int64_t>() + batch.data.numel());
    return all;
  };
  auto whole = make(0);
  REQUIRE(whole->size() == 4);
  const List expected = read(whole, 3);
  REQUIRE(expected.size() == 30);
  for (const size_t workers : {0, 2}) {
    auto started = make(workers);
    List all = read(started, 1);
    auto at = started->begin();
    for (const bool is_last : {false, true}) {
      all.insert(all.end(), at->data.data<int64_t>(), at->data.data<int64_t>() + 3);
      if (!is_last) ++at;
    }
    serialize::OutputArchive out;
    started->save(out);
    const std::vector<char> bytes = pickle_save(out.value());
    serialize::InputArchive in;
    in.load_from(bytes.data(), bytes.size());
    auto resumed = make(2 - workers);
    resumed->load(in);
    const List rest = read(resumed, 2);
    all.insert(all.end(), rest.begin(), rest.end());
    CHECK(all == expected);
  }
}

TEST_CASE("WeightedRandomSampler refuses weights and states that make no sense", "[data][samplers]") {
  using S = WeightedRandomSampler;
  const std::vector<double> none{}, negative{1, -2}, zeros{0, 0}, three{1, 0, 2};
  REQUIRE_THROWS_WITH(S(none, 1), Contains("none of the 0 weights is positive"));
  REQUIRE_THROWS_WITH(S(negative, 1), Contains("weight 1 is -2"));
  REQUIRE_THROWS_WITH(S(zeros, 1), Contains("none of the 2 weights is positive"));
  REQUIRE_THROWS_WITH(S(std::vector<double>{NAN}, 1), Contains("weight 0 is nan"));
  REQUIRE_THROWS_WITH(S(arange(4).view({2, 2}), 1), Contains("1d sequence") && Contains("(2, 2)"));
  REQUIRE_THROWS_WITH(S(three, 0), Contains("num_samples=0"));
  REQUIRE_THROWS_WITH(S(three, 3, false), Contains("num_samples is 3, but 2 weights are positive"));
  REQUIRE_THROWS_WITH(S(three, 3, true, UINT64_MAX), Contains("seed is 18446744073709551615"));
  S sampler(three, 4, true, 1);
  REQUIRE_THROWS_WITH(sampler.reset(5), Contains("5 examples, but there are 3 weights"));
  sampler.reset(3);
  const std::string before = saved(sampler);
  S larger(std::vector<double>{0, 0, 0, 1}, 4, true, 1);
  REQUIRE_THROWS_WITH(restore(sampler, saved(larger)), Contains("'indices' has 3; accepted: 0 to 2"));
  REQUIRE(saved(sampler) == before);
}
