// Implements the distributed samplers: each rank gets a contiguous block of a list of examples, which is shuffled or in
// order.
#include "tandem/data/samplers/distributed_samplers.h"

#include <algorithm>
#include <random>

#include "tandem/core/internal.h"

namespace tandem::data::samplers {

std::optional<std::vector<size_t>> detail::BlockSampler::next(size_t batch_size) {
  return take_indices(all_indices_, sample_index_, end_index(), batch_size);
}
void detail::BlockSampler::fill_indices(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  all_indices_.resize(local_sample_count() * num_replicas_);
  for (size_t i = 0; i < all_indices_.size(); ++i) all_indices_[i] = i % size_;
  sample_index_ = begin_index();
}

DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : BlockSampler(size, num_replicas, rank, allow_duplicates) {
  DistributedRandomSampler::reset();
}
void DistributedRandomSampler::reset(std::optional<size_t> new_size) {
  fill_indices(new_size);
  std::mt19937 generator(static_cast<std::mt19937::result_type>(epoch_));
  std::shuffle(all_indices_.begin(), all_indices_.end(), generator);
}

DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas, size_t rank,
                                                           bool allow_duplicates)
    : BlockSampler(size, num_replicas, rank, allow_duplicates) {
  DistributedSequentialSampler::reset();
}
void DistributedSequentialSampler::reset(std::optional<size_t> new_size) { fill_indices(new_size); }

}  // namespace tandem::data::samplers
