// Implements TensorDataset and TensorPairDataset, which return one row as an example, and many rows as a batch.
#include "tandem/data/tensor_dataset.h"

#include "tandem/core/internal.h"

namespace tandem::data::datasets {

template class Dataset<TensorDataset, TensorExample>;
template class Dataset<TensorPairDataset>;

namespace {
void check_has_rows(const char* dataset, const Tensor& data) {
  TANDEM_CHECK(data.dim() > 0, dataset, ": data is a scalar; accepted: one dimension or more, of which the first ",
               "counts the examples");
}
}  // namespace

TensorDataset::TensorDataset(Tensor data) : tensor(std::move(data)) { check_has_rows("TensorDataset", tensor); }
TensorDataset::TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(stack_rows(tensors)) {}
TensorExample TensorDataset::get(size_t index) { return tensor[static_cast<int64_t>(index)]; }
TensorExample TensorDataset::get_stacked(ArrayRef<size_t> indices) { return gather_rows(tensor, indices); }
std::optional<size_t> TensorDataset::size() const { return static_cast<size_t>(tensor.size(0)); }

TensorPairDataset::TensorPairDataset(Tensor data, Tensor target) : data(std::move(data)), target(std::move(target)) {
  check_has_rows("TensorPairDataset", this->data);
  TANDEM_CHECK(this->target.dim() > 0 && this->target.size(0) == this->data.size(0), "TensorPairDataset: data is ",
               this->data.sizes(), " and target is ", this->target.sizes(), "; they must have the same number of rows");
}
Example<> TensorPairDataset::get(size_t index) {
  const auto row = static_cast<int64_t>(index);
  return {data[row], target[row]};
}
Example<> TensorPairDataset::get_stacked(ArrayRef<size_t> indices) {
  return {gather_rows(data, indices), gather_rows(target, indices)};
}
std::optional<size_t> TensorPairDataset::size() const { return static_cast<size_t>(data.size(0)); }

}  // namespace tandem::data::datasets
