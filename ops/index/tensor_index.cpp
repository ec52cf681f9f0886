// Printing of TensorIndex; Tensor::index({...}) and the function index.
#include "tandem/ops/index/tensor_index.h"

#include <limits>

#include "tandem/ops/index/advanced_index.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {

TANDEM_CAST_POLICY(none, index);

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  const Tensor x = apply_slicing("index", *this, indices, tensors);
  if (tensors.empty()) return x.is_same(*this) ? view(sizes()) : x;
  const AdvancedIndex p = resolve_index_tensors("index", x, tensors);
  const Tensor rows = select_rows("index", p.flatten_indexed_dims(), p.first_indexed_dim, p.positions.reshape({-1}));
  if (p.positions.dim() == 1) return rows;
  Shape sizes = rows.sizes();
  sizes.erase(static_cast<size_t>(p.first_indexed_dim));
  for (size_t d = 0; d < p.positions.sizes().size(); ++d)
    sizes.insert(static_cast<size_t>(p.first_indexed_dim) + d, p.positions.sizes()[d]);
  return reshape_result(rows, sizes);
}
Tensor detail::index_with_tensors(const Tensor& x, ArrayRef<std::optional<Tensor>> indices) {
  return tandem::index(x, indices);
}
Tensor index(const Tensor& x, ArrayRef<std::optional<Tensor>> indices) { return x.index(to_tensor_indices(indices)); }

namespace indexing {
std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  return out << slice.start() << ':' << slice.stop() << ':' << slice.step();
}
TensorIndex::TensorIndex(const char* ellipsis) : entry(Ellipsis) {
  if (std::string_view(ellipsis) != "...")
    throw Error(std::string("index: Expected \"...\" to represent an ellipsis index, but got \"")
                    .append(ellipsis)
                    .append("\""));
}
std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  if (const auto* number = std::get_if<int64_t>(&index.entry)) return out << *number;
  if (const auto* slice = std::get_if<Slice>(&index.entry)) return out << *slice;
  if (const auto* tensor = std::get_if<Tensor>(&index.entry)) {
    if (tensor->dtype() == kBool && tensor->dim() == 0) return out << (tensor->item<bool>() ? "true" : "false");
    return out << *tensor;
  }
  return out << (std::holds_alternative<EllipsisIndexType>(index.entry) ? "..." : "None");
}
}  // namespace indexing

}  // namespace tandem
