// ShardSampler: gives each of n ranks every n-th example, like Python's torch.utils.data.DistributedSampler.
#pragma once
#include "tandem/data/samplers/samplers.h"

namespace tandem::data::samplers {

namespace detail {

/// Treatment of the remainder if the examples do not divide evenly among the ranks.
enum class RemainderPolicy {
  kPad,   // repeats examples from the start of the order, so that all ranks get the same number
  kDrop,  // leaves out the remaining examples
  kKeep,  // gives the first ranks one example more, so that each example is used exactly once, for evaluation
};

/// Pads or shortens `order` as `remainder_policy` says, then returns its elements rank, rank + num_replicas, rank + 2
/// num_replicas,
/// ... kPad and kDrop give the same result as PyTorch.
std::vector<size_t> shard_indices(ArrayRef<size_t> order, size_t num_replicas, size_t rank,
                                  RemainderPolicy remainder_policy);

}  // namespace detail

struct ShardSamplerOptions {
  /// If true, each epoch has a random order, which depends on the seed and the epoch.
  bool shuffle = true;
  /// Seed of the random order; must be equal on all ranks.
  uint64_t seed = 0;
  /// Whether to leave out the remaining examples if the examples do not divide evenly among the ranks. If false, `pad`
  /// applies.
  bool drop_last = false;
  bool pad = true;  // whether to repeat examples, so that all ranks get the same number
};

/// Gives each rank its share of the examples. All ranks draw the same permutation, from seed + epoch. Call set_epoch
/// before each epoch, or all epochs have the same order. Returns the same indices as Python's
/// torch.utils.data.DistributedSampler. LibTorch's DistributedSampler differs: it assigns contiguous blocks, and is
/// declared in distributed_samplers.h.
class ShardSampler : public Sampler<> {
 public:
  ShardSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, ShardSamplerOptions options = {});
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Sets the epoch. This takes effect at the next reset(), or at once if next() has returned no index of this epoch
  /// yet.
  void set_epoch(size_t epoch);
  /// Returns the epoch that set_epoch() has set; 0 before the first call.
  size_t epoch() const noexcept { return epoch_; }
  /// Returns the number of indices that this rank gets per epoch.
  size_t local_sample_count() const noexcept { return indices_.size(); }
  /// Returns local_sample_count(), under the name that loaders and progress bars use.
  size_t epoch_size() const noexcept { return indices_.size(); }
  /// Returns the number of indices that next() has returned in this epoch.
  size_t index() const noexcept { return index_; }
  /// Returns the positions of the next indices in the epoch, counted over all ranks together.
  data::detail::ExamplePositions positions() const noexcept {
    return {index_ * num_replicas_ + rank_, num_replicas_, num_replicas_ > 1};
  }
  /// Returns this rank's indices in this epoch.
  const std::vector<size_t>& indices() const noexcept { return indices_; }

 private:
  size_t size_, num_replicas_, rank_;
  ShardSamplerOptions options_;
  size_t epoch_ = 0, index_ = 0;
  std::vector<size_t> indices_;
};

}  // namespace tandem::data::samplers
