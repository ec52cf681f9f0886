// Subset: the examples of a dataset at given indices.
#pragma once
#include <memory>

#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

namespace detail {
template <class D>
concept HasGet = requires(D dataset, size_t index) {
  dataset.get(index);
};
/// Returns the indices of a subset in shared storage. @throws IndexError if an index is not less than `size`
std::shared_ptr<const std::vector<size_t>> make_subset_indices(std::vector<size_t> indices, std::optional<size_t> size);
/// Returns indices[p] for each p in `positions`. @throws IndexError if a position is not less than indices.size()
std::vector<size_t> select_indices(const std::vector<size_t>& indices, ArrayRef<size_t> positions);
}  // namespace detail

/// The examples of a dataset at the given indices, in the order of the indices, as in Python's
/// torch.utils.data.Subset. An index may occur more than once. Copies of a subset share the list of indices, but each
/// has a copy of the dataset; wrap a dataset that is expensive to copy by make_shared_dataset().
template <class SourceDataset>
class Subset : public BatchDataset<Subset<SourceDataset>, typename SourceDataset::BatchType> {
  static_assert(std::is_same_v<typename SourceDataset::BatchRequestType, ArrayRef<size_t>>,
                "a Subset needs a dataset whose batches are requested by lists of indices");

 public:
  using DatasetType = SourceDataset;
  using BatchType = typename SourceDataset::BatchType;
  /// @throws IndexError  if an index is not less than the size of the dataset
  Subset(SourceDataset dataset, std::vector<size_t> indices)
      : dataset_(std::move(dataset)), indices_(detail::make_subset_indices(std::move(indices), dataset_.size())) {}

  BatchType get_batch(ArrayRef<size_t> request) override {
    return dataset_.get_batch(detail::select_indices(*indices_, request));
  }
  /// Returns the example at `index`. Only declared if the source dataset has a get().
  auto get(size_t index) requires detail::HasGet<SourceDataset> {
    return dataset_.get(detail::select_indices(*indices_, index)[0]);
  }
  /// Returns the examples at these indices as one stacked batch. Only declared if the source supports stacked batches.
  auto get_stacked(ArrayRef<size_t> request) requires detail::HasGetStacked<SourceDataset> {
    return dataset_.get_stacked(detail::select_indices(*indices_, request));
  }
  std::optional<size_t> size() const override { return indices_->size(); }
  /// Returns the source dataset.
  const SourceDataset& dataset() const noexcept { return dataset_; }
  /// Returns the index in the source dataset of each example.
  const std::vector<size_t>& indices() const noexcept { return *indices_; }

 private:
  SourceDataset dataset_;
  std::shared_ptr<const std::vector<size_t>> indices_;
};

}  // namespace tandem::data::datasets

namespace tandem::data {
using datasets::Subset;
}  // namespace tandem::data
