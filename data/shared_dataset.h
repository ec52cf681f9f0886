// SharedBatchDataset: lets several loaders or workers share one dataset, instead of using one copy each.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

/// A reference to a dataset. Copies refer to the same dataset, so a loader with several workers calls the dataset's
/// get_batch from several threads at once.
template <class UnderlyingDataset>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<UnderlyingDataset>, typename UnderlyingDataset::BatchType,
                          typename UnderlyingDataset::BatchRequestType> {
 public:
  using BatchType = typename UnderlyingDataset::BatchType;
  using BatchRequestType = typename UnderlyingDataset::BatchRequestType;

  /// @throws Error if shared_dataset is null
  SharedBatchDataset(std::shared_ptr<UnderlyingDataset> shared_dataset) : dataset_(std::move(shared_dataset)) {
    TANDEM_CHECK(dataset_, "SharedBatchDataset: the pointer to the dataset is null; accepted: a pointer to a dataset");
  }
  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  /// Returns the examples at `indices` as one batch.
  auto get_stacked(ArrayRef<size_t> indices) requires detail::HasGetStacked<UnderlyingDataset> {
    return dataset_->get_stacked(indices);
  }
  std::optional<size_t> size() const override { return dataset_->size(); }
  /// Begins an epoch of a stateful dataset.
  void reset() { dataset_->reset(); }

  /// The dataset that all copies share.
  UnderlyingDataset& operator*() { return *dataset_; }
  const UnderlyingDataset& operator*() const { return *dataset_; }
  /// Returns the dataset that all copies share.
  UnderlyingDataset* operator->() { return dataset_.get(); }
  /// Returns the dataset that all copies share.
  const UnderlyingDataset* operator->() const { return dataset_.get(); }

 private:
  std::shared_ptr<UnderlyingDataset> dataset_;
};

/// Constructs a dataset from `args`, and returns a reference to it.
template <class UnderlyingDataset, class... Args>
SharedBatchDataset<UnderlyingDataset> make_shared_dataset(Args&&... args) {
  return std::make_shared<UnderlyingDataset>(std::forward<Args>(args)...);
}

}  // namespace tandem::data::datasets
