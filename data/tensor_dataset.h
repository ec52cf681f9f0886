// Datasets whose examples are the rows of tensors.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

struct TensorDataset;
extern template class Dataset<TensorDataset, TensorExample>;
struct TensorPairDataset;
extern template class Dataset<TensorPairDataset>;

/// Dataset of the rows of one tensor (N, ...), without targets.
struct TensorDataset : public Dataset<TensorDataset, TensorExample> {
  /// @throws Error for a scalar
  explicit TensorDataset(Tensor data);
  /// Stacks tensors of equal shape; each becomes an example. @throws Error if `tensors` is empty, or the shapes or
  /// dtypes differ
  explicit TensorDataset(const std::vector<Tensor>& tensors);

  TensorExample get(size_t index) override;
  /// Returns the examples at these indices as one stacked batch, without creating single examples.
  TensorExample get_stacked(ArrayRef<size_t> indices);  // see Note [Batches without examples] in dataset.h
  std::optional<size_t> size() const override;

  Tensor tensor;  // (N, ...)
};

/// Dataset of the rows of a tensor `data` (N, ...), with the rows of a tensor `target` (N, ...) as targets; like
/// Python's TensorDataset of two tensors.
struct TensorPairDataset : public Dataset<TensorPairDataset> {
  /// @throws Error for scalars, and if the tensors have different numbers of rows
  TensorPairDataset(Tensor data, Tensor target);

  Example<> get(size_t index) override;
  /// Returns the examples at these indices as one stacked batch, without creating single examples.
  Example<> get_stacked(ArrayRef<size_t> indices);  // see Note [Batches without examples] in dataset.h
  std::optional<size_t> size() const override;

  /// Inputs and targets of all examples; dimension 0 is the index of the example.
  Tensor data, target;
};

}  // namespace tandem::data::datasets
