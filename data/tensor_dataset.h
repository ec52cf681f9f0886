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
  /// Tensors of one shape, each of which is a row. @throws Error when there are none, or they differ
  explicit TensorDataset(const std::vector<Tensor>& tensors);

  TensorExample get(size_t index) override;
  /// The examples at these indices as one batch, without a stack of single ones.
  TensorExample get_stacked(ArrayRef<size_t> indices);  // Note [Batches without examples]
  std::optional<size_t> size() const override;

  Tensor tensor;  // (N, ...)
};

/// The rows of one tensor, (N, ...), with those of another, (N, ...), as their targets: what Python's TensorDataset
/// makes of two tensors.
struct TensorPairDataset : public Dataset<TensorPairDataset> {
  /// @throws Error for scalars, and for tensors of different numbers of rows
  TensorPairDataset(Tensor data, Tensor target);

  Example<> get(size_t index) override;
  /// The examples at these indices as one batch, without a stack of single ones.
  Example<> get_stacked(ArrayRef<size_t> indices);  // Note [Batches without examples]
  std::optional<size_t> size() const override;

  /// Inputs and targets of all examples, along dimension 0.
  Tensor data, target;
};

}  // namespace tandem::data::datasets
