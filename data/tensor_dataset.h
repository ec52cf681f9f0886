// Datasets whose examples are the rows of tensors.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

struct TensorDataset;
extern template class Dataset<TensorDataset, TensorExample>;
struct TensorPairDataset;
extern template class Dataset<TensorPairDataset>;

/// The rows of one tensor, (N, ...), without targets.
struct TensorDataset : public Dataset<TensorDataset, TensorExample> {
  /// @throws Error for a scalar
  explicit TensorDataset(Tensor data);
  /// Stacks tensors of one shape, each of which is a row. @throws Error if there are none, or they differ
  explicit TensorDataset(const std::vector<Tensor>& tensors);

  TensorExample get(size_t index) override;
  /// Returns the examples at these indices as one batch, without making single examples.
  TensorExample get_stacked(ArrayRef<size_t> indices);  // Note [Batches without examples]
  std::optional<size_t> size() const override;

  Tensor tensor;  // (N, ...)
};

/// The rows of one tensor, (N, ...), with the rows of another, (N, ...), as their targets; like Python's TensorDataset
/// of two tensors.
struct TensorPairDataset : public Dataset<TensorPairDataset> {
  /// @throws Error for scalars, and if the tensors have different numbers of rows
  TensorPairDataset(Tensor data, Tensor target);

  Example<> get(size_t index) override;
  /// Returns the examples at these indices as one batch, without making single examples.
  Example<> get_stacked(ArrayRef<size_t> indices);  // Note [Batches without examples]
  std::optional<size_t> size() const override;

  /// Inputs and targets of all examples, along dimension 0.
  Tensor data, target;
};

}  // namespace tandem::data::datasets
