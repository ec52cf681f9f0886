// Datasets whose examples are the rows of tensors.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

namespace detail {
inline void check_has_rows(const char* dataset, const Tensor& data) {
  TANDEM_CHECK(data.dim() > 0, dataset, ": data is a scalar; its first dimension counts the examples");
}
}  // namespace detail

/// The rows of one tensor, (N, ...), without targets.
struct TensorDataset : public Dataset<TensorDataset, TensorExample> {
  /// @throws Error for a scalar
  explicit TensorDataset(Tensor data) : tensor(std::move(data)) { detail::check_has_rows("TensorDataset", tensor); }
  /// Tensors of one shape, each of which is a row. @throws Error when there are none, or they differ
  explicit TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(data::detail::stack_rows(tensors)) {}

  TensorExample get(size_t index) override { return tensor[static_cast<int64_t>(index)]; }
  /// The examples at these indices as one batch, without a stack of single ones.
  TensorExample get_stacked(ArrayRef<size_t> indices) {  // Note [Batches without examples]
    return data::detail::gather_rows(tensor, indices);
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }

  Tensor tensor;  // (N, ...)
};

/// The rows of one tensor, (N, ...), with those of another, (N, ...), as their targets: what Python's TensorDataset
/// makes of two tensors.
struct TensorPairDataset : public Dataset<TensorPairDataset> {
  /// @throws Error for scalars, and for tensors of different numbers of rows
  TensorPairDataset(Tensor data, Tensor target) : data(std::move(data)), target(std::move(target)) {
    detail::check_has_rows("TensorPairDataset", this->data);
    TANDEM_CHECK(this->target.dim() > 0 && this->target.size(0) == this->data.size(0), "TensorPairDataset: data is ",
                 this->data.sizes(), " and target is ", this->target.sizes(),
                 "; they must have the same number of rows");
  }

  Example<> get(size_t index) override {
    const auto row = static_cast<int64_t>(index);
    return {data[row], target[row]};
  }
  /// The examples at these indices as one batch, without a stack of single ones.
  Example<> get_stacked(ArrayRef<size_t> indices) {  // Note [Batches without examples]
    return {data::detail::gather_rows(data, indices), data::detail::gather_rows(target, indices)};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(data.size(0)); }

  /// Inputs and targets of all examples, along dimension 0.
  Tensor data, target;
};

}  // namespace tandem::data::datasets
