// random_split: divides a dataset at random into subsets.
#pragma once
#include "tandem/data/subsets/subset.h"

namespace tandem::data::datasets {

namespace detail {
/// Converts fractions to lengths that add up to `size`. @throws Error if a fraction is not in [0, 1], or their sum is
/// not 1
std::vector<size_t> convert_fractions(size_t size, ArrayRef<double> fractions);
/// Draws a permutation of 0 .. size - 1 and cuts it into lists of these lengths.
/// @throws Error if the lengths do not add up to `size`
std::vector<std::vector<size_t>> split_permutation(size_t size, const std::vector<size_t>& lengths,
                                                   std::optional<uint64_t> seed);
/// @throws Error for a dataset without a size, or for a negative length
size_t get_split_size(std::optional<size_t> size);
size_t check_split_length(int64_t length);
}  // namespace detail

/// Divides a dataset at random into subsets without common examples, as Python's torch.utils.data.random_split does.
/// @param lengths  Integers are the sizes of the subsets, and must add up to the dataset's size. Floating-point numbers
///                 are fractions, and must add up to 1: subset i gets floor(size * lengths[i]) examples, and the
///                 remaining examples go one each to the first subsets.
/// @param seed     determines the division. If it is not given, the division is drawn from the CPU generator of this
///                 rank. The ranks of a job need the same seed, so that they have the same subsets.
/// @throws Error   if the lengths do not fit the dataset
template <class SourceDataset, class Length>
requires std::is_arithmetic_v<Length> std::vector<Subset<SourceDataset>> random_split(
    SourceDataset dataset, const std::vector<Length>& lengths, std::optional<uint64_t> seed = {}) {
  const size_t size = detail::get_split_size(dataset.size());
  std::vector<size_t> counts;
  if constexpr (std::is_floating_point_v<Length>)
    counts = detail::convert_fractions(size, std::vector<double>(lengths.begin(), lengths.end()));
  else
    for (const Length length : lengths) counts.push_back(detail::check_split_length(static_cast<int64_t>(length)));
  std::vector<Subset<SourceDataset>> subsets;
  for (std::vector<size_t>& indices : detail::split_permutation(size, counts, seed))
    subsets.emplace_back(dataset, std::move(indices));
  return subsets;
}
/// Divides a dataset by a list in braces, such as random_split(dataset, {0.8, 0.2}).
template <class SourceDataset, class Length>
std::vector<Subset<SourceDataset>> random_split(SourceDataset dataset, std::initializer_list<Length> lengths,
                                                std::optional<uint64_t> seed = {}) {
  return random_split(std::move(dataset), std::vector<Length>(lengths), seed);
}

}  // namespace tandem::data::datasets

namespace tandem::data {
using datasets::random_split;
}  // namespace tandem::data
