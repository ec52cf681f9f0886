// ShardSampler: every n-th example for each of n ranks, as Python's torch.utils.data.DistributedSampler deals them out.
#pragma once
#include "tandem/data/samplers/samplers.h"

namespace tandem::data::samplers {

namespace detail {

/// What happens to examples that do not fill a whole round of the ranks.
enum class Tail {
  kPad,   // the first examples of the order come again, so that every rank has as many
  kDrop,  // they are left out
  kKeep,  // the first ranks have one more: each example exactly once, as evaluation needs
};

/// Every num_replicas-th index of `order` from `rank` on, after the tail was dealt with; PyTorch's rule for kPad and
/// kDrop.
std::vector<size_t> distributed_indices(ArrayRef<size_t> order, size_t num_replicas, size_t rank, Tail tail);

}  // namespace detail

struct ShardSamplerOptions {
  /// Whether each epoch has an order of its own, drawn from seed and epoch.
  bool shuffle = true;
  /// Of that order: the same on all ranks.
  uint64_t seed = 0;
  /// Whether the last examples are left out that do not go round; else the first ones come again.
  bool drop_last = false;
  bool pad = true;  // false, with drop_last false: the first ranks may have one more
};

/// One rank's share of the examples. All ranks draw the same permutation, from seed + epoch: call set_epoch before
/// each epoch, or every epoch has the same order. As PyTorch's torch.utils.data.DistributedSampler; the samplers of
/// that name in LibTorch, which deal out blocks, are in distributed_samplers.h.
class ShardSampler : public Sampler<> {
 public:
  ShardSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, ShardSamplerOptions options = {});
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Takes effect with the next epoch, and at once when none of this one's indices was handed out yet.
  void set_epoch(size_t epoch);
  /// The epoch that set_epoch() named, 0 at first.
  size_t epoch() const noexcept { return epoch_; }
  /// How many indices this rank gets per epoch.
  size_t local_sample_count() const noexcept { return indices_.size(); }
  /// The same: what a progress bar asks for.
  size_t epoch_size() const noexcept { return indices_.size(); }
  /// Number of indices of this epoch that were handed out.
  size_t index() const noexcept { return index_; }
  /// Positions of the next indices in the epoch of all ranks.
  data::detail::Positions positions() const noexcept {
    return {index_ * num_replicas_ + rank_, num_replicas_, num_replicas_ > 1};
  }
  /// This rank's indices in this epoch.
  const std::vector<size_t>& indices() const noexcept { return indices_; }

 private:
  size_t size_, num_replicas_, rank_;
  ShardSamplerOptions options_;
  size_t epoch_ = 0, index_ = 0;
  std::vector<size_t> indices_;
};

}  // namespace tandem::data::samplers
