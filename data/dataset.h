// Datasets: examples by index, and what `map` makes of them.
#pragma once
#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/data/example.h"
#include "tandem/data/transforms.h"

namespace tandem::data::datasets {

template <class SourceDataset, class AppliedTransform> class MapDataset;

/// Something that answers a request, a list of indices as a rule, with a batch.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>> class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  /// How many examples there are; nothing when that is not known.
  virtual std::optional<size_t> size() const = 0;

  /// This dataset with a transform applied to each batch.
  template <class AppliedTransform> MapDataset<Self, AppliedTransform> map(AppliedTransform transform) & {
    return {static_cast<Self&>(*this), std::move(transform)};
  }
  template <class AppliedTransform> MapDataset<Self, AppliedTransform> map(AppliedTransform transform) && {
    return {std::move(static_cast<Self&>(*this)), std::move(transform)};
  }
};

/// What most datasets are: an example for each index. A loader's workers each use a copy of the dataset.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  virtual SingleExample get(size_t index) = 0;
  std::vector<SingleExample> get_batch(ArrayRef<size_t> indices) override {
    std::vector<SingleExample> batch;
    batch.reserve(indices.size());
    for (const size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

// Note [Batches without examples]: a dataset whose examples are rows of tensors can gather a batch in one go
// (`get_stacked`), and a transform may know what it does to a batch so gathered (`apply_stacked`). When a chain of maps
// of such ends in Stack, no single example is ever made. The values are the same either way.
namespace detail {
template <class D>
concept GathersBatches = requires(D dataset, ArrayRef<size_t> indices) {
  dataset.get_stacked(indices);
};
template <class T, class D>
concept KeepsBatches = GathersBatches<D> && requires(T transform, D dataset, ArrayRef<size_t> indices) {
  transform.apply_stacked(dataset.get_stacked(indices));
};
template <class T, class D>
concept StacksBatches = GathersBatches<D> && requires(D dataset, ArrayRef<size_t> indices) {
  requires std::same_as<T, transforms::Stack<decltype(dataset.get_stacked(indices))>>;
};
}  // namespace detail

/// A dataset with a transform applied to its batches.
template <class SourceDataset, class AppliedTransform>
class MapDataset
    : public BatchDataset<MapDataset<SourceDataset, AppliedTransform>, typename AppliedTransform::OutputBatchType,
                          typename SourceDataset::BatchRequestType> {
 public:
  using DatasetType = SourceDataset;
  using TransformType = AppliedTransform;
  MapDataset(SourceDataset dataset, AppliedTransform transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  typename AppliedTransform::OutputBatchType get_batch(typename SourceDataset::BatchRequestType request) override {
    if constexpr (detail::StacksBatches<AppliedTransform, SourceDataset>) {
      return dataset_.get_stacked(request);
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  auto get_stacked(ArrayRef<size_t> indices) requires detail::KeepsBatches<AppliedTransform, SourceDataset> {
    return transform_.apply_stacked(dataset_.get_stacked(indices));
  }
  std::optional<size_t> size() const override { return dataset_.size(); }
  const SourceDataset& dataset() const { return dataset_; }
  const AppliedTransform& transform() const { return transform_; }

 private:
  SourceDataset dataset_;
  AppliedTransform transform_;
};

/// dataset.map(transform)
template <class D, class T> MapDataset<D, T> map(D dataset, T transform) {
  return {std::move(dataset), std::move(transform)};
}

}  // namespace tandem::data::datasets
