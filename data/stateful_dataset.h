// StatefulDataset: a dataset that keeps its own position in the epoch, and determines when the epoch ends.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

/// Answers requests, usually batch sizes, until the epoch is over, and then returns nullopt. A loader of it takes no
/// sampler, and all its workers use the same dataset, so several threads call get_batch at once.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  /// Begins an epoch. No get_batch is running meanwhile.
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
