// Implements ShardSampler: rank r of n gets every n-th index from the r-th on, with the order and padding of Python's
// DistributedSampler.
#include "tandem/data/samplers/shard_sampler.h"

#include <numeric>

#include "tandem/core/generator.h"
#include "tandem/core/internal.h"
#include "tandem/ops/random/randperm.h"

namespace tandem::data::samplers {
namespace {

std::vector<size_t> permutation(size_t size) {
  const Tensor order = randperm(static_cast<int64_t>(size));
  const int64_t* p = order.data<int64_t>();
  return {p, p + size};
}

}  // namespace

std::vector<size_t> detail::shard_indices(ArrayRef<size_t> order, size_t num_replicas, size_t rank,
                                          RemainderPolicy remainder_policy) {
  check_rank("ShardSampler", num_replicas, rank);
  const size_t n = order.size();
  size_t total = n;
  if (remainder_policy == RemainderPolicy::kDrop) total = n / num_replicas * num_replicas;
  if (remainder_policy == RemainderPolicy::kPad) total = (n + num_replicas - 1) / num_replicas * num_replicas;
  std::vector<size_t> share;
  for (size_t i = rank; i < total; i += num_replicas) share.push_back(order[i % n]);
  return share;
}

ShardSampler::ShardSampler(size_t size, size_t num_replicas, size_t rank, ShardSamplerOptions options)
    : size_(size), num_replicas_(num_replicas), rank_(rank), options_(options) {
  ShardSampler::reset();
}
void ShardSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  std::vector<size_t> order(size_);
  if (options_.shuffle) {
    // This temporary generator makes the same permutation on every rank, and leaves this rank's own generator
    // unchanged.
    Generator generator(options_.seed + epoch_);
    const GeneratorGuard guard(generator);
    order = permutation(size_);
  } else {
    std::iota(order.begin(), order.end(), size_t{0});
  }
  const RemainderPolicy remainder_policy = options_.drop_last ? RemainderPolicy::kDrop
                                           : options_.pad     ? RemainderPolicy::kPad
                                                              : RemainderPolicy::kKeep;
  indices_ = shard_indices(order, num_replicas_, rank_, remainder_policy);
  index_ = 0;
}
std::optional<std::vector<size_t>> ShardSampler::next(size_t batch_size) {
  return take_indices(indices_, index_, indices_.size(), batch_size);
}
void ShardSampler::set_epoch(size_t epoch) {
  epoch_ = epoch;
  if (index_ == 0) reset();
}

}  // namespace tandem::data::samplers
