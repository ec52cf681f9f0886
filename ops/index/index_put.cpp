// index_put and index_put_: write or add to the elements that index({...}) reads.
#include "tandem/ops/index/index_put.h"

#include "tandem/kernels/index.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/index/advanced_index.h"
#include "tandem/ops/index/index_checks.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, index_put);

Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& given, Flag accumulate) const {
  // Drops leading dimensions of size 1 from the value, which may have more dimensions than the indexed elements.
  size_t leading = 0;
  while (leading < given.sizes().size() && given.sizes()[leading] == 1) ++leading;
  const Tensor value =
      leading == 0 ? given : given.reshape(given.sizes().slice(leading, given.sizes().size() - leading));
  std::vector<std::pair<int64_t, Tensor>> tensors;
  Tensor x = apply_slicing("index_put_", self(), indices, tensors);
  if (tensors.empty()) {
    copy_inplace("index_put_", x, accumulate ? x + value : value);
    return self();
  }
  if (tensors.size() == 1 && tensors[0].second.dtype() == kBool && value.numel() == 1) {
    const auto& [dim, mask] = tensors[0];
    check_mask("index_put_", x, dim, mask);
    Shape sizes = mask.sizes();
    for (int64_t d = dim + mask.dim(); d < x.dim(); ++d) sizes.push_back(1);
    copy_inplace("index_put_", x,
                 tandem::where(mask.reshape(sizes), accumulate ? x + value.to(dtype()) : value.to(dtype()), x));
    return self();
  }
  // a mask, which is handled above, accepts a value of another dtype
  check_same_dtype("index_put_", "x", *this, "value", value);
  const AdvancedIndex p = resolve_index_tensors("index_put_", x, tensors);
  const Tensor flat = p.flatten_indexed_dims();
  // `whole` is the shape of the indexed elements: the shape of `flat`, with dimension dim replaced by the shape of
  // p.positions. `part` is the same shape with p.positions flattened; `column` is a shape in which p.positions
  // broadcasts to `part`.
  Shape part = flat.sizes(), column(part.size(), 1), whole;
  const auto dim = static_cast<size_t>(p.first_indexed_dim);
  for (size_t d = 0; d < dim; ++d) whole.push_back(part[d]);
  for (const int64_t s : p.positions.sizes()) whole.push_back(s);
  for (size_t d = dim + 1; d < part.size(); ++d) whole.push_back(part[d]);
  part[dim] = column[dim] = p.positions.numel();
  TANDEM_CHECK(is_broadcastable(value.sizes(), whole) && broadcast_shapes("index_put_", value.sizes(), whole) == whole,
               "index_put_: shape mismatch: value tensor of shape ", value.sizes(),
               " cannot be broadcast to indexing result of shape ", whole);
  const Tensor rows = value.expand(whole).reshape(part);
  const auto put = [&] {  // returns a copy of x with the values written or added
    const Tensor wide = p.positions.reshape(column).expand(part);
    Shape back(p.dim_order.size(), 0);
    for (size_t d = 0; d < back.size(); ++d) back[static_cast<size_t>(p.dim_order[d])] = static_cast<int64_t>(d);
    const Tensor y =
        accumulate ? flat.scatter_add(p.first_indexed_dim, wide, rows) : flat.scatter(p.first_indexed_dim, wide, rows);
    return y.reshape(p.permuted.sizes()).permute(back);
  };
  const auto direct = [&] {
    if (flat.storage() != x.storage() || !flat.is_contiguous()) return copy_elements(put(), x);
    const NoGradGuard guard;
    const Tensor from = as_outer_dim_inner(copy_if_overlapping(flat, rows), p.first_indexed_dim),
                 positions = p.positions.reshape({-1}).contiguous();
    // The index may share memory with x, as in x.index_put_({x}, ...).
    const Tensor at = positions.storage() == flat.storage() ? positions.clone() : positions;
    Tensor to = as_outer_dim_inner(flat, p.first_indexed_dim);
    if (accumulate)
      TANDEM_DISPATCH(device(), index_add, from, at, to);
    else
      TANDEM_DISPATCH(device(), index_copy, "index_put_", from, at, to);
  };
  autograd::run_inplace("index_put_", x, {value}, direct, [&](const Tensor&) { return put(); });
  return self();
}
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
  return index_put_(indices, full({}, value, options()));
}
Tensor Tensor::index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value, Flag accumulate) const {
  if (const Autocast cast{cast_policy::index_put, *this, value})
    return cast(*this).index_put(indices, cast(value), accumulate);
  return clone().index_put_(indices, value, accumulate);
}
Tensor Tensor::index_put(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
  if (const Autocast cast{cast_policy::index_put, *this}) return cast(*this).index_put(indices, value);
  return clone().index_put_(indices, value);
}

Tensor& detail::put_with_tensors(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                                 bool accumulate) {
  return tandem::index_put_(x, indices, value, accumulate);
}
Tensor detail::put_copy_with_tensors(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                                     bool accumulate) {
  return tandem::index_put(x, indices, value, accumulate);
}
Tensor& index_put_(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value, Flag accumulate) {
  return x.index_put_(to_tensor_indices(indices), value, accumulate);
}
Tensor index_put(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value, Flag accumulate) {
  return x.index_put(to_tensor_indices(indices), value, accumulate);
}

}  // namespace tandem
