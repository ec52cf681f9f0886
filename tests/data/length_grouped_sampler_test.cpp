// Tests of LengthGroupedSampler, and of the Trainer's batches of examples of similar length.
#include <numeric>
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/train/data_source.h"

using namespace tandem;
using data::samplers::LengthGroupedSampler;
using Indices = std::vector<size_t>;

namespace {

std::vector<int64_t> some_lengths(size_t count) {
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < count; ++i) lengths.push_back(static_cast<int64_t>(1 + i * 37 % 101));
  return lengths;
}
Indices all_of_epoch(LengthGroupedSampler& sampler, size_t epoch, size_t batch_size) {
  sampler.set_epoch(epoch);
  sampler.reset();
  Indices all;
  while (const auto batch = sampler.next(batch_size)) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}
/// Number of padding tokens if each batch is padded to its longest example.
int64_t padding(const Indices& order, const std::vector<int64_t>& lengths, size_t batch_size) {
  int64_t sum = 0;
  for (size_t begin = 0; begin < order.size(); begin += batch_size) {
    int64_t longest = 0, tokens = 0, rows = 0;
    for (size_t i = begin; i < std::min(begin + batch_size, order.size()); ++i, ++rows) {
      longest = std::max(longest, lengths[order[i]]);
      tokens += lengths[order[i]];
    }
    sum += longest * rows - tokens;
  }
  return sum;
}

}  // namespace

TEST_CASE("a LengthGroupedSampler returns each example once, in batches with little padding", "[data]") {
  const auto lengths = some_lengths(1003);
  LengthGroupedSampler sampler(lengths, 8, 5);
  const Indices first = all_of_epoch(sampler, 0, 8), second = all_of_epoch(sampler, 1, 8);
  Indices sorted = first, expected(1003);
  std::iota(expected.begin(), expected.end(), size_t{0});
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == expected);
  CHECK(first != second);
  LengthGroupedSampler again(lengths, 8, 5), another_seed(lengths, 8, 6);
  CHECK(all_of_epoch(again, 1, 8) == second);
  CHECK(all_of_epoch(another_seed, 1, 8) != second);
  data::samplers::ShardSampler plain(1003, 1, 0, {.shuffle = true, .seed = 5});
  CHECK(padding(first, lengths, 8) * 10 < padding(plain.indices(), lengths, 8));
  // The batches are not in the order of their lengths: about half of them are longer than the one before.
  int longer = 0;
  for (size_t i = 8; i < 1000; i += 8) longer += lengths[first[i]] > lengths[first[i - 8]] ? 1 : 0;
  CHECK(longer > 40);
  CHECK(longer < 84);
}

TEST_CASE("a LengthGroupedSampler continues from a saved position", "[data]") {
  LengthGroupedSampler sampler(some_lengths(50), 4, 9);
  const Indices expected = all_of_epoch(sampler, 3, 4);
  sampler.set_epoch(3);
  sampler.reset();
  for (int i = 0; i < 5; ++i) sampler.next(4);
  std::ostringstream file;
  save(sampler, file);
  const std::string bytes = file.str();
  LengthGroupedSampler other(some_lengths(50), 4, 9);
  load(other, bytes.data(), bytes.size());
  Indices rest;
  while (const auto batch = other.next(4)) rest.insert(rest.end(), batch->begin(), batch->end());
  CHECK(rest == Indices(expected.begin() + 20, expected.end()));
  CHECK_THROWS_WITH(other.next(5), Contains("asks for 5") && Contains("batches of 4"));
  CHECK_THROWS_WITH(other.reset(49), Contains("49 examples") && Contains("50 lengths"));
  CHECK_THROWS_WITH(LengthGroupedSampler({}, 4), Contains("0 lengths"));
}

TEST_CASE("DataSource::lengths groups the batches of all ranks, and resumes within an epoch", "[data][train]") {
  std::vector<int64_t> numbers(53);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  const auto lengths = some_lengths(53);
  auto source = train::DataSource(data::datasets::TensorPairDataset(tensor(numbers), tensor(numbers)))
                    .batch_size(6)
                    .shuffle(true)
                    .lengths(lengths);
  LengthGroupedSampler sampler(lengths, 6, 4);
  const auto batches_of = [&](int rank, int ranks, size_t epoch) {
    const auto opened = source.open({.rank = rank, .ranks = ranks, .seed = 4});
    opened->begin_epoch(epoch);
    std::vector<Indices> batches;
    while (auto batch = opened->next()) {
      batches.emplace_back();
      const Tensor rows = batch->get<data::Example<>>().data;
      for (int64_t i = 0; i < rows.numel(); ++i) batches.back().push_back(static_cast<size_t>(rows[i].item<int64_t>()));
    }
    return batches;
  };
  for (const size_t epoch : {0, 2}) {
    const Indices expected = all_of_epoch(sampler, epoch, 6);
    std::vector<std::vector<Indices>> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(batches_of(rank, 3, epoch));
    Indices joined;
    for (size_t batch = 0; batch < 9; ++batch)
      for (const auto& rank : ranks)
        if (batch < rank.size()) joined.insert(joined.end(), rank[batch].begin(), rank[batch].end());
    CHECK(joined == expected);
  }
  const auto opened = source.open({.seed = 4});
  opened->begin_epoch(1);
  for (int i = 0; i < 3; ++i) opened->next();
  serialize::OutputArchive saved;
  opened->save(saved);
  std::stringstream stream;
  saved.save_to(stream);
  serialize::InputArchive archive;
  archive.load_from(stream);
  const auto resumed = source.open({.seed = 4});
  resumed->load(archive);
  resumed->begin_epoch(1);
  const Tensor next = resumed->next()->get<data::Example<>>().data;
  CHECK(next.equal(opened->next()->get<data::Example<>>().data));
  // Without shuffling, the longest examples come first.
  source.shuffle(false);
  const std::vector<Indices> sorted = batches_of(0, 1, 0);
  int64_t previous = 1000;
  for (const Indices& batch : sorted)
    for (const size_t i : batch) {
      CHECK(lengths[i] <= previous);
      previous = lengths[i];
    }
  source.lengths({1, 2});
  CHECK_THROWS_WITH(source.open({}), Contains("53 examples") && Contains("2 lengths"));
}
