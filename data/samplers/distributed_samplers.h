// LibTorch's samplers for several ranks, each of which takes a block of the examples.
#pragma once
#include "tandem/data/samplers/samplers.h"

namespace tandem::data::samplers {

/// One rank's part of the examples; all ranks get as many. Where they do not divide evenly, some come twice
/// (allow_duplicates), or the last ones are left out.
template <class BatchRequest = std::vector<size_t>> class DistributedSampler : public Sampler<BatchRequest> {
 public:
  /// @throws Error when rank is not one of num_replicas
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    detail::check_rank("DistributedSampler", num_replicas, rank);
  }
  /// Which epoch the next reset, which a loader's begin() does, is to begin.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  /// The epoch that set_epoch() named, 0 at first.
  size_t epoch() const { return epoch_; }
  /// How many indices this rank gets per epoch.
  size_t epoch_size() const { return local_sample_count(); }

 protected:
  /// How many examples each rank gets per epoch.
  size_t local_sample_count() const {
    return size_ / num_replicas_ + (allow_duplicates_ && size_ % num_replicas_ != 0 ? 1 : 0);
  }

  size_t size_, num_replicas_, rank_;
  size_t epoch_ = 0;
  bool allow_duplicates_;
};

namespace detail {
/// What the samplers below have in common: the list of all ranks' indices, and this rank's block of it.
class BlockSampler : public DistributedSampler<> {
 public:
  using DistributedSampler::DistributedSampler;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Where in the list of all ranks the next index is.
  size_t index() const noexcept { return sample_index_; }
  /// Positions of the next indices in the epoch of all ranks.
  data::detail::Positions positions() const noexcept { return {sample_index_, 1, num_replicas_ > 1}; }

 protected:
  /// 0, 1, 2, ..., as many as all ranks take, from the start again where there are no more.
  void list_indices(std::optional<size_t> new_size);
  size_t begin() const { return rank_ * local_sample_count(); }
  size_t end() const { return begin() + local_sample_count(); }
  size_t sample_index_ = 0;
  std::vector<size_t> all_indices_;
};
}  // namespace detail

/// A block of a permutation that all ranks draw alike, from the epoch alone: call set_epoch before each epoch, or every
/// one has the same order. The permutation is std::shuffle's, as in LibTorch.
class DistributedRandomSampler : public detail::BlockSampler {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void reset(std::optional<size_t> new_size = {}) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
};

/// A block of 0, 1, 2, ...: rank 0 has the first examples.
class DistributedSequentialSampler : public detail::BlockSampler {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void reset(std::optional<size_t> new_size = {}) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
};

}  // namespace tandem::data::samplers
