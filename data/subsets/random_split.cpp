// Implements the lengths and the permutation of random_split.
#include "tandem/data/subsets/random_split.h"

#include <cmath>
#include <numeric>

#include "tandem/core/generator.h"
#include "tandem/core/internal.h"
#include "tandem/ops/random/randperm.h"

namespace tandem::data::datasets {
namespace {

Tensor draw_permutation(size_t size, std::optional<uint64_t> seed) {
  if (!seed) return randperm(static_cast<int64_t>(size));
  Generator generator(*seed);  // a temporary generator leaves this rank's own generator unchanged
  const GeneratorGuard guard(generator);
  return randperm(static_cast<int64_t>(size));
}

}  // namespace

size_t detail::get_split_size(std::optional<size_t> size) {
  TANDEM_CHECK(size, "random_split: the dataset's size() is nullopt; accepted: a dataset with a known size");
  return *size;
}

size_t detail::check_split_length(int64_t length) {
  TANDEM_CHECK(length >= 0, "random_split: a length is ", length,
               "; accepted: lengths of 0 or more, or fractions such as 0.8");
  return static_cast<size_t>(length);
}

std::vector<size_t> detail::convert_fractions(size_t size, ArrayRef<double> fractions) {
  double sum = 0;
  for (size_t i = 0; i < fractions.size(); ++i) {
    TANDEM_CHECK(fractions[i] >= 0 && fractions[i] <= 1, "random_split: Fraction at index ", i,
                 " is not between 0 and 1, but ", fractions[i]);
    sum += fractions[i];
  }
  TANDEM_CHECK(std::abs(sum - 1) <= 1e-9, "random_split: the fractions add up to ", sum,
               "; accepted: fractions that add up to 1, or integers that add up to the dataset's size");
  std::vector<size_t> lengths;
  for (const double fraction : fractions)
    lengths.push_back(static_cast<size_t>(std::floor(static_cast<double>(size) * fraction)));
  size_t used = std::accumulate(lengths.begin(), lengths.end(), size_t{0});
  for (size_t i = 0; used < size; ++used, ++i) ++lengths[i % lengths.size()];
  return lengths;
}

std::vector<std::vector<size_t>> detail::split_permutation(size_t size, const std::vector<size_t>& lengths,
                                                           std::optional<uint64_t> seed) {
  const size_t sum = std::accumulate(lengths.begin(), lengths.end(), size_t{0});
  TANDEM_CHECK(sum == size, "random_split: Sum of input lengths does not equal the length of the input dataset: ", sum,
               " and ", size);
  const Tensor permutation = draw_permutation(size, seed);
  const int64_t* next = permutation.data<int64_t>();
  std::vector<std::vector<size_t>> parts;
  for (const size_t length : lengths) {
    parts.emplace_back(next, next + length);
    next += length;
  }
  return parts;
}

}  // namespace tandem::data::datasets
