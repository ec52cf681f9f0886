// LibTorch's samplers for distributed training: each rank gets a contiguous block of the examples.
#pragma once
#include "tandem/data/samplers/samplers.h"

namespace tandem::data::samplers {

/// Base class of samplers that give each of num_replicas ranks the same number of examples. If the examples do not
/// divide evenly, some examples come twice (if allow_duplicates), or the last examples are left out.
template <class BatchRequest = std::vector<size_t>> class DistributedSampler : public Sampler<BatchRequest> {
 public:
  /// @throws Error if rank is not less than num_replicas
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    detail::check_rank("DistributedSampler", num_replicas, rank);
  }
  /// Sets the epoch that the next reset() begins; a loader's begin() calls reset().
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  /// Returns the epoch that set_epoch() has set; 0 before the first call.
  size_t epoch() const { return epoch_; }
  /// Returns the number of indices that this rank gets per epoch.
  size_t epoch_size() const { return local_sample_count(); }

 protected:
  /// Returns the number of examples that each rank gets per epoch.
  size_t local_sample_count() const {
    return size_ / num_replicas_ + (allow_duplicates_ && size_ % num_replicas_ != 0 ? 1 : 0);
  }

  size_t size_, num_replicas_, rank_;
  size_t epoch_ = 0;
  bool allow_duplicates_;
};

namespace detail {
/// Common base of the samplers below. Holds the list of the indices for all ranks; this rank's indices are a contiguous
/// block of the list.
class BlockSampler : public DistributedSampler<> {
 public:
  using DistributedSampler::DistributedSampler;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Returns the position of the next index in the list for all ranks.
  size_t index() const noexcept { return sample_index_; }
  /// Returns the positions of the next indices in the epoch, counted over all ranks together.
  data::detail::ExamplePositions positions() const noexcept { return {sample_index_, 1, num_replicas_ > 1}; }

 protected:
  /// Fills the list with 0, 1, 2, ... for all ranks together, starting again from 0 after the last example.
  void fill_indices(std::optional<size_t> new_size);
  size_t begin_index() const { return rank_ * local_sample_count(); }
  size_t end_index() const { return begin_index() + local_sample_count(); }
  size_t sample_index_ = 0;
  std::vector<size_t> all_indices_;
};
}  // namespace detail

/// Gives each rank a block of a permutation. The permutation depends on the epoch only, so it is equal on all ranks.
/// Call set_epoch before each epoch, or all epochs have the same order. As in LibTorch, std::shuffle makes the
/// permutation.
class DistributedRandomSampler : public detail::BlockSampler {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void reset(std::optional<size_t> new_size = {}) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
};

/// Gives each rank a block of the indices 0, 1, 2, ...; rank 0 gets the first examples.
class DistributedSequentialSampler : public detail::BlockSampler {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void reset(std::optional<size_t> new_size = {}) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
};

}  // namespace tandem::data::samplers
