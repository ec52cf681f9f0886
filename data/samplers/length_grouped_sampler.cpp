// Implements LengthGroupedSampler: sorts pieces of a ShardSampler's order, and shuffles the batches.
#include "tandem/data/samplers/length_grouped_sampler.h"

#include <algorithm>

#include "tandem/core/internal.h"

namespace tandem::data::samplers {

std::vector<size_t> detail::group_by_length(std::vector<size_t> order, const std::vector<int64_t>& lengths,
                                            size_t batch_size, uint64_t seed) {
  const auto at = [&](size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(std::min(i, order.size())); };
  const size_t piece = batch_size * kBatchesSortedTogether, num_full = order.size() / batch_size;
  for (size_t begin = 0; begin < order.size(); begin += piece)
    std::stable_sort(at(begin), at(begin + piece), [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  constexpr uint64_t kAnotherStream = 0x9e3779b97f4a7c15;  // the order of the batches is not that of the examples
  const ShardSampler batches(num_full, 1, 0, {.shuffle = true, .seed = seed ^ kAnotherStream});
  std::vector<size_t> grouped;
  grouped.reserve(order.size());
  for (const size_t batch : batches.indices())
    grouped.insert(grouped.end(), at(batch * batch_size), at((batch + 1) * batch_size));
  grouped.insert(grouped.end(), at(num_full * batch_size), order.end());
  return grouped;
}

LengthGroupedSampler::LengthGroupedSampler(std::vector<int64_t> lengths, size_t batch_size, uint64_t seed, bool shuffle)
    : order_(lengths.size(), 1, 0, {.shuffle = shuffle, .seed = seed}),
      lengths_(std::make_shared<const std::vector<int64_t>>(std::move(lengths))),
      batch_size_(batch_size),
      seed_(seed),
      shuffle_(shuffle) {
  TANDEM_CHECK(!lengths_->empty() && batch_size > 0, "LengthGroupedSampler: there are ", lengths_->size(),
               " lengths, and batch_size is ", batch_size, "; accepted: 1 or more of both");
  group();
}
void LengthGroupedSampler::group() {
  indices_ = order_.indices();
  if (shuffle_)
    indices_ = detail::group_by_length(std::move(indices_), *lengths_, batch_size_, seed_ + order_.epoch());
  else
    std::stable_sort(indices_.begin(), indices_.end(),
                     [&](size_t a, size_t b) { return (*lengths_)[a] > (*lengths_)[b]; });
}
void LengthGroupedSampler::reset(std::optional<size_t> new_size) {
  TANDEM_CHECK(!new_size || *new_size == lengths_->size(), "LengthGroupedSampler: the dataset has ", *new_size,
               " examples, but there are ", lengths_->size(), " lengths; accepted: as many");
  order_.reset();
  group();
}
std::optional<std::vector<size_t>> LengthGroupedSampler::next(size_t batch_size) {
  TANDEM_CHECK(batch_size == batch_size_, "LengthGroupedSampler: the loader asks for ", batch_size,
               " examples, but the sampler makes batches of ", batch_size_, "; accepted: the same batch size");
  const size_t begin = order_.index();
  const auto examples = order_.next(batch_size);
  if (!examples) return {};
  const auto first = indices_.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(examples->size()));
}
void LengthGroupedSampler::set_epoch(size_t epoch) {
  order_.set_epoch(epoch);
  if (order_.index() == 0) group();
}
void LengthGroupedSampler::save(serialize::OutputArchive& archive) const { order_.save(archive); }
void LengthGroupedSampler::load(serialize::InputArchive& archive) {
  order_.load(archive);
  group();
}

}  // namespace tandem::data::samplers
