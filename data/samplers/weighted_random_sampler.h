// WeightedRandomSampler: draws examples with given probabilities, like Python's torch.utils.data.WeightedRandomSampler.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/data/samplers/samplers.h"

namespace tandem::data::samplers {

/// Draws `num_samples` indices per epoch, index i with a probability proportional to weights[i]. The sampler has its
/// own stream of random numbers, which its saved state includes. A resumed sampler therefore draws the same indices, in
/// later epochs too. The ranks of a job need different seeds, so that they draw different examples.
class WeightedRandomSampler : public Sampler<> {
 public:
  /// @param weights      one number for each example of the dataset, 0 or more; they need not add up to 1
  /// @param num_samples  number of indices in an epoch
  /// @param replacement  if false, no index occurs twice in an epoch
  /// @param seed         seed of the sampler's stream, less than 2^63. If it is not given, it is drawn from the CPU
  ///                     generator of this rank.
  /// @throws Error if a weight is negative or not finite, if no weight is positive, or if num_samples is not positive
  ///     or, without replacement, larger than the number of positive weights
  WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement = true,
                        std::optional<uint64_t> seed = {});
  WeightedRandomSampler(const std::vector<double>& weights, int64_t num_samples, bool replacement = true,
                        std::optional<uint64_t> seed = {});
  /// @throws Error if `new_size` is not the number of weights
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Returns the number of indices that next() has returned in this epoch.
  size_t index() const noexcept { return index_; }
  /// Returns the number of indices in an epoch.
  size_t epoch_size() const noexcept { return static_cast<size_t>(num_samples_); }

 private:
  void draw_indices();
  Tensor weights_;  // (examples) float64
  int64_t num_samples_;
  bool replacement_;
  tandem::detail::PhiloxState next_state_;  // position of the next epoch's first draw in the sampler's stream
  std::vector<size_t> indices_;             // indices of this epoch
  size_t index_ = 0;
};

}  // namespace tandem::data::samplers
