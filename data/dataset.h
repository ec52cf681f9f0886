// Base classes of datasets, and `map`, which applies a transform to a dataset's batches.
#pragma once
#include <concepts>
#include <type_traits>

#include "tandem/data/example.h"
#include "tandem/data/transforms.h"

namespace tandem::data::datasets {

/// A dataset that applies a transform to another dataset's batches. dataset.map(transform) returns a MapDataset.
template <class SourceDataset, class AppliedTransform> class MapDataset;
/// Returns a dataset whose batches pass through the transform, as dataset.map(transform) does.
template <class D, class T> MapDataset<D, T> map(D dataset, T transform);

namespace detail {
template <class T> inline constexpr bool kIsOptional = false;
template <class T> inline constexpr bool kIsOptional<std::optional<T>> = true;
}  // namespace detail

/// Base class of datasets. A dataset returns a batch for each request, which is usually a list of indices.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>> class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  /// Whether the dataset itself determines the end of an epoch: get_batch then returns a std::optional, and nullopt at
  /// the end. See StatefulDataset.
  static constexpr bool is_stateful = detail::kIsOptional<Batch>;
  virtual ~BatchDataset() = default;
  /// Returns the batch for a request.
  virtual Batch get_batch(BatchRequest request) = 0;
  /// Returns the number of examples, or nullopt if the number is not known.
  virtual std::optional<size_t> size() const = 0;

  /// Returns this dataset with a transform applied to each batch.
  template <class AppliedTransform> MapDataset<Self, AppliedTransform> map(AppliedTransform transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class AppliedTransform> MapDataset<Self, AppliedTransform> map(AppliedTransform transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// Base class of datasets that return one example for each index. Each worker of a loader uses a copy of the dataset.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  /// Returns the example at `index`, which is less than size().
  virtual SingleExample get(size_t index) = 0;
  std::vector<SingleExample> get_batch(ArrayRef<size_t> indices) override;
};
// Defined outside of the class, so that `extern template` can prevent its compilation in every file for the library's
// own datasets.
template <class Self, class SingleExample>
std::vector<SingleExample> Dataset<Self, SingleExample>::get_batch(ArrayRef<size_t> indices) {
  std::vector<SingleExample> batch;
  batch.reserve(indices.size());
  data::detail::ExampleRandomGuard example;
  for (size_t i = 0; i < indices.size(); ++i) {
    example.begin_example(i);
    batch.push_back(get(indices[i]));
  }
  return batch;
}

/// A dataset that chooses the order of its examples itself. A request is the number of examples in the batch;
/// samplers::StreamSampler makes such requests.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, /*BatchRequest=*/size_t>;

// Note [Batches without examples]: a dataset whose examples are rows of tensors can gather a whole batch at once
// (`get_stacked`), and a transform may support such a batch (`apply_stacked`). If a dataset is mapped by a chain of
// such transforms that ends in Stack, no single example is ever made. The values are the same either way.
namespace detail {
template <class D>
concept HasGetStacked = requires(D dataset, ArrayRef<size_t> indices) {
  dataset.get_stacked(indices);
};
template <class T, class D>
concept HasApplyStacked = HasGetStacked<D> && requires(T transform, D dataset, ArrayRef<size_t> indices) {
  transform.apply_stacked(dataset.get_stacked(indices));
};
template <class T, class D>
concept IsStackTransform = HasGetStacked<D> && requires(D dataset, ArrayRef<size_t> indices) {
  requires std::same_as<T, transforms::Stack<decltype(dataset.get_stacked(indices))>>;
};
}  // namespace detail

/// A dataset with a transform applied to its batches. If the source is stateful, this dataset is stateful, too, and its
/// epoch ends when the source's epoch ends.
template <class SourceDataset, class AppliedTransform>
class MapDataset
    : public BatchDataset<
          MapDataset<SourceDataset, AppliedTransform>,
          std::conditional_t<SourceDataset::is_stateful, std::optional<typename AppliedTransform::OutputBatchType>,
                             typename AppliedTransform::OutputBatchType>,
          typename SourceDataset::BatchRequestType> {
 public:
  using DatasetType = SourceDataset;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename SourceDataset::BatchRequestType;
  using OutputBatchType = typename MapDataset::BatchType;
  /// Moves the dataset and the transform into this dataset.
  MapDataset(SourceDataset dataset, AppliedTransform transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (detail::IsStackTransform<AppliedTransform, SourceDataset>) {
      return dataset_.get_stacked(request);
    } else if constexpr (SourceDataset::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      if (!batch) return {};
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  /// Returns the examples at these indices as one stacked batch. Only declared if the source and the transform support
  /// stacked batches.
  auto get_stacked(ArrayRef<size_t> indices) requires detail::HasApplyStacked<AppliedTransform, SourceDataset> {
    return transform_.apply_stacked(dataset_.get_stacked(indices));
  }
  std::optional<size_t> size() const override { return dataset_.size(); }
  /// Begins an epoch of a stateful dataset.
  void reset() { dataset_.reset(); }
  /// Returns the source dataset.
  const SourceDataset& dataset() const noexcept { return dataset_; }
  /// Returns the transform.
  const AppliedTransform& transform() const noexcept { return transform_; }

 private:
  SourceDataset dataset_;
  AppliedTransform transform_;
};

/// Returns dataset.map(transform).
template <class D, class T> MapDataset<D, T> map(D dataset, T transform) {
  if constexpr (D::is_stateful)
    static_assert(std::is_same_v<typename D::BatchType::value_type, typename T::InputBatchType>,
                  "the transform's input type must be the type of the dataset's batches");
  else
    static_assert(std::is_same_v<typename D::BatchType, typename T::InputBatchType>,
                  "the transform's input type must be the type of the dataset's batches");
  return {std::move(dataset), std::move(transform)};
}

}  // namespace tandem::data::datasets
