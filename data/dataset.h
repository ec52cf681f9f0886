// Datasets: examples by index, and what `map` makes of them.
#pragma once
#include <concepts>
#include <type_traits>

#include "tandem/data/example.h"
#include "tandem/data/transforms.h"

namespace tandem::data::datasets {

/// A dataset whose batches go through a transform: what dataset.map(transform) gives.
template <class SourceDataset, class AppliedTransform> class MapDataset;
/// The dataset whose batches go through the transform; dataset.map(transform) is the same.
template <class D, class T> MapDataset<D, T> map(D dataset, T transform);

namespace detail {
template <class T> inline constexpr bool kIsOptional = false;
template <class T> inline constexpr bool kIsOptional<std::optional<T>> = true;
}  // namespace detail

/// Something that answers a request, a list of indices as a rule, with a batch.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>> class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  /// Whether a request may be answered with nothing, at an end that only the dataset knows: StatefulDataset.
  static constexpr bool is_stateful = detail::kIsOptional<Batch>;
  virtual ~BatchDataset() = default;
  /// The batch that a request asks for.
  virtual Batch get_batch(BatchRequest request) = 0;
  /// How many examples there are; nothing when that is not known.
  virtual std::optional<size_t> size() const = 0;

  /// This dataset with a transform applied to each batch.
  template <class AppliedTransform> MapDataset<Self, AppliedTransform> map(AppliedTransform transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class AppliedTransform> MapDataset<Self, AppliedTransform> map(AppliedTransform transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// What most datasets are: an example for each index. A loader's workers each use a copy of the dataset.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  /// The example at `index`, which is less than size().
  virtual SingleExample get(size_t index) = 0;
  std::vector<SingleExample> get_batch(ArrayRef<size_t> indices) override;
};
// Not in the class: the library's own datasets have it compiled in one place.
template <class Self, class SingleExample>
std::vector<SingleExample> Dataset<Self, SingleExample>::get_batch(ArrayRef<size_t> indices) {
  std::vector<SingleExample> batch;
  batch.reserve(indices.size());
  data::detail::EachExample example;
  for (size_t i = 0; i < indices.size(); ++i) {
    example.begin(i);
    batch.push_back(get(indices[i]));
  }
  return batch;
}

/// A dataset that hands out its examples as they come: a request is how many are wanted (samplers::StreamSampler).
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, /*BatchRequest=*/size_t>;

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

/// A dataset with a transform applied to its batches. Of a stateful dataset it is stateful, and its end is that one's.
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
  /// Both are moved into it.
  MapDataset(SourceDataset dataset, AppliedTransform transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (detail::StacksBatches<AppliedTransform, SourceDataset>) {
      return dataset_.get_stacked(request);
    } else if constexpr (SourceDataset::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      if (!batch) return {};
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  /// A batch of these examples as one, of a dataset that can hand it out at once.
  auto get_stacked(ArrayRef<size_t> indices) requires detail::KeepsBatches<AppliedTransform, SourceDataset> {
    return transform_.apply_stacked(dataset_.get_stacked(indices));
  }
  std::optional<size_t> size() const override { return dataset_.size(); }
  /// Begins an epoch of a stateful dataset.
  void reset() { dataset_.reset(); }
  /// The dataset behind it.
  const SourceDataset& dataset() const noexcept { return dataset_; }
  /// The transform.
  const AppliedTransform& transform() const noexcept { return transform_; }

 private:
  SourceDataset dataset_;
  AppliedTransform transform_;
};

/// dataset.map(transform)
template <class D, class T> MapDataset<D, T> map(D dataset, T transform) {
  if constexpr (D::is_stateful)
    static_assert(std::is_same_v<typename D::BatchType::value_type, typename T::InputBatchType>,
                  "the transform takes another type of batch than the dataset gives");
  else
    static_assert(std::is_same_v<typename D::BatchType, typename T::InputBatchType>,
                  "the transform takes another type of batch than the dataset gives");
  return {std::move(dataset), std::move(transform)};
}

}  // namespace tandem::data::datasets
