// StatefulDataset: one that knows itself where its epoch is, and when it ends.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

/// Answers requests, batch sizes as a rule, until it has no more for this epoch: then with nothing. A loader of it
/// takes no sampler, and all its workers use the one dataset: get_batch is called by several threads at once.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  /// Begins an epoch. No get_batch is running meanwhile.
  virtual void reset() = 0;
  /// Writes where the dataset is; load brings one there.
  virtual void save(serialize::OutputArchive& archive) const = 0;
  /// Reads what save() wrote: the dataset goes on from there.
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// dataset.save(archive): so torch::save takes stateful datasets
template <class... Args>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const StatefulDataset<Args...>& dataset) {
  dataset.save(archive);
  return archive;
}
/// dataset.load(archive): so torch::load takes them
template <class... Args>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, StatefulDataset<Args...>& dataset) {
  dataset.load(archive);
  return archive;
}

}  // namespace tandem::data::datasets
