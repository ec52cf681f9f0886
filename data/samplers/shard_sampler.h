// ShardSampler: every n-th example for each of n ranks, like Python's torch.utils.data.DistributedSampler.
#pragma once
#include "tandem/data/samplers/samplers.h"

namespace tandem::data::samplers {

namespace detail {

/// Treatment of the last examples if they do not divide evenly among the ranks.
enum class Tail {
  kPad,   // repeats the first examples of the order, so that all ranks have equally many
  kDrop,  // leaves the last examples out
  kKeep,  // gives the first ranks one more, so that each example comes exactly once, as evaluation needs
};

/// Returns every num_replicas-th index of `order` from `rank` on, after padding or dropping as `tail` says. kPad and
/// kDrop follow PyTorch's rule.
std::vector<size_t> distributed_indices(ArrayRef<size_t> order, size_t num_replicas, size_t rank, Tail tail);

}  // namespace detail

struct ShardSamplerOptions {
  /// If true, each epoch has an order of its own, drawn from seed and epoch.
  bool shuffle = true;
  /// Seed of the order; it must be equal on all ranks.
  uint64_t seed = 0;
  /// If true, the last examples are left out if they do not divide evenly; else the first examples are repeated.
  bool drop_last = false;
  bool pad = true;  // if pad and drop_last are false, the first ranks may have one more example
};

/// One rank's share of the examples. All ranks draw the same permutation, from seed + epoch. Call set_epoch before each
/// epoch, or all epochs have the same order. It follows PyTorch's torch.utils.data.DistributedSampler; LibTorch's
/// samplers of that name, which assign blocks, are in distributed_samplers.h.
class ShardSampler : public Sampler<> {
 public:
  ShardSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, ShardSamplerOptions options = {});
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Sets the epoch. It takes effect with the next epoch, or at once if no index of this epoch was returned yet.
  void set_epoch(size_t epoch);
  /// Returns the epoch that set_epoch() has set; 0 before the first call.
  size_t epoch() const noexcept { return epoch_; }
  /// Returns the number of indices that this rank gets per epoch.
  size_t local_sample_count() const noexcept { return indices_.size(); }
  /// Returns local_sample_count(), under the name that loaders and progress bars use.
  size_t epoch_size() const noexcept { return indices_.size(); }
  /// Returns how many indices of this epoch next() has returned.
  size_t index() const noexcept { return index_; }
  /// Returns the positions of the next indices in the epoch of all ranks.
  data::detail::Positions positions() const noexcept {
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
