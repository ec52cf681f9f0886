// TensorDataset: examples that are the rows of tensors.
#pragma once
#include <type_traits>

#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

/// `TensorDataset(x)` gives TensorExamples, as LibTorch's; `TensorDataset(x, y)` gives Examples, as PyTorch's.
template <class SingleExample = Example<>>
class TensorDataset final : public Dataset<TensorDataset<SingleExample>, SingleExample> {
  static constexpr bool kHasTarget = std::is_same_v<SingleExample, Example<>>;

 public:
  explicit TensorDataset(Tensor data) requires(!kHasTarget) : data_(std::move(data)) { check_rows(); }
  explicit TensorDataset(const std::vector<Tensor>& rows) requires(!kHasTarget)
      : TensorDataset(data::detail::stack_rows(rows)) {}
  TensorDataset(Tensor data, Tensor target) requires kHasTarget : data_(std::move(data)), target_(std::move(target)) {
    check_rows();
    TANDEM_CHECK(target_.dim() > 0 && target_.size(0) == data_.size(0), "TensorDataset: data is ", data_.sizes(),
                 " and target is ", target_.sizes(), "; they must have the same number of rows");
  }

  SingleExample get(size_t index) override {
    const auto row = static_cast<int64_t>(index);
    if constexpr (kHasTarget)
      return {data_[row], target_[row]};
    else
      return data_[row];
  }
  SingleExample get_stacked(ArrayRef<size_t> indices) {  // Note [Batches without examples]
    if constexpr (kHasTarget)
      return {data::detail::gather_rows(data_, indices), data::detail::gather_rows(target_, indices)};
    else
      return data::detail::gather_rows(data_, indices);
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(data_.size(0)); }

 private:
  void check_rows() const {
    TANDEM_CHECK(data_.dim() > 0, "TensorDataset: data is a scalar; its first dimension counts the examples");
  }
  Tensor data_, target_;
};
TensorDataset(Tensor)->TensorDataset<TensorExample>;
TensorDataset(std::vector<Tensor>)->TensorDataset<TensorExample>;
TensorDataset(Tensor, Tensor)->TensorDataset<Example<>>;

}  // namespace tandem::data::datasets
