// StatefulDataset: base class of datasets that keep their own position in the epoch, and determine when the epoch ends.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

/// A dataset whose get_batch returns a batch for each request, usually for a batch size, and nullopt when the epoch is
/// over. A loader of a StatefulDataset takes no sampler. All workers of the loader use the same dataset, so several
/// threads may call get_batch at the same time.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  /// Begins an epoch. Never called while get_batch runs.
  virtual void reset() = 0;
  /// Writes the dataset's position.
  virtual void save(serialize::OutputArchive& archive) const = 0;
  /// Reads a position that save() wrote, and continues there.
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// Calls dataset.save(archive), so that torch::save takes stateful datasets.
template <class... Args>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const StatefulDataset<Args...>& dataset) {
  dataset.save(archive);
  return archive;
}
/// Calls dataset.load(archive), so that torch::load takes stateful datasets.
template <class... Args>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, StatefulDataset<Args...>& dataset) {
  dataset.load(archive);
  return archive;
}

}  // namespace tandem::data::datasets
