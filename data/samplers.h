// Samplers: which examples, in which order.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::data::samplers {

/// Hands out requests, lists of indices as a rule, until an epoch is over.
template <class BatchRequest = std::vector<size_t>> class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Begins an epoch, of a dataset that now has `new_size` examples if that is given.
  virtual void reset(std::optional<size_t> new_size = {}) = 0;
  /// The next request, of `batch_size` indices or of what is left; nothing when the epoch is over.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
};

/// 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const noexcept { return index_; }

 private:
  size_t size_, index_ = 0;
};

/// A new permutation each epoch, drawn from the CPU generator of this rank (`manual_seed`).
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(size_t size) : size_(size) { reset(); }
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const noexcept { return index_; }

 private:
  std::vector<size_t> indices_;
  size_t size_, index_ = 0;
};

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

struct DistributedSamplerOptions {
  bool shuffle = true;
  uint64_t seed = 0;
  bool drop_last = false;
  bool pad = true;  // false, with drop_last false: the first ranks may have one more
};

/// One rank's share of the examples. All ranks draw the same permutation, from seed + epoch: call set_epoch before
/// each epoch, or every epoch has the same order. As PyTorch's torch.utils.data.DistributedSampler.
class DistributedSampler : public Sampler<> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, DistributedSamplerOptions options = {});
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Takes effect with the next epoch, and at once when none of this one's indices was handed out yet.
  void set_epoch(size_t epoch);
  size_t epoch() const noexcept { return epoch_; }
  /// How many indices this rank gets per epoch.
  size_t local_sample_count() const noexcept { return indices_.size(); }
  /// This rank's indices in this epoch.
  const std::vector<size_t>& indices() const noexcept { return indices_; }

 private:
  size_t size_, num_replicas_, rank_;
  DistributedSamplerOptions options_;
  size_t epoch_ = 0, index_ = 0;
  std::vector<size_t> indices_;
};

}  // namespace tandem::data::samplers
