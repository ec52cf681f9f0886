// LengthGroupedSampler: a random order in which the examples of a batch have similar lengths.
#pragma once
#include "tandem/data/samplers/shard_sampler.h"

namespace tandem::data::samplers {

namespace detail {
/// Number of batches whose examples are sorted together. More give batches with less padding, and less random ones.
inline constexpr size_t kBatchesSortedTogether = 50;
/// Returns `order` with examples of similar length next to each other. It is cut into pieces of kBatchesSortedTogether
/// batches, and each piece is sorted by length; then the full batches are put in a random order, drawn from `seed`. The
/// last batch stays last if it is not full.
/// @param lengths  length of each example
std::vector<size_t> group_by_length(std::vector<size_t> order, const std::vector<int64_t>& lengths, size_t batch_size,
                                    uint64_t seed);
}  // namespace detail

/// Returns batches of examples of similar length, in a random order, so that padding to the longest example of a batch
/// wastes little. The order depends on the seed and the epoch only. Call set_epoch before each epoch, or all epochs
/// have the same order. All calls of next() must ask for batches of the same size.
class LengthGroupedSampler : public Sampler<> {
 public:
  /// @param lengths     length of each example, such as EncodedTexts::lengths()
  /// @param batch_size  number of examples that each next() asks for
  /// @param shuffle     if false, the longest examples come first, in every epoch
  /// @throws Error if there are no lengths, or batch_size is 0
  LengthGroupedSampler(std::vector<int64_t> lengths, size_t batch_size, uint64_t seed = 0, bool shuffle = true);
  /// @throws Error if `new_size` is not the number of lengths
  void reset(std::optional<size_t> new_size = {}) override;
  /// @throws Error if the batch size is not the constructor's
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Sets the epoch. This takes effect at the next reset(), or at once if next() has returned no index of this epoch
  /// yet.
  void set_epoch(size_t epoch);
  /// Returns the epoch.
  size_t epoch() const noexcept { return order_.epoch(); }
  /// Returns the number of indices in an epoch.
  size_t epoch_size() const noexcept { return indices_.size(); }
  /// Returns the number of indices that next() has returned in this epoch.
  size_t index() const noexcept { return order_.index(); }
  /// Returns the indices of this epoch, in order.
  const std::vector<size_t>& indices() const noexcept { return indices_; }

 private:
  void group();
  ShardSampler order_;
  std::shared_ptr<const std::vector<int64_t>> lengths_;
  size_t batch_size_;
  uint64_t seed_;
  bool shuffle_;
  std::vector<size_t> indices_;
};

}  // namespace tandem::data::samplers
