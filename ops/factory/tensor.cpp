// Tensors with given values: tensor, scalar_tensor.
#include "tandem/ops/factory/tensor.h"

#include <algorithm>

#include "tandem/ops/define_op.h"
#include "tandem/ops/factory/make_empty.h"

namespace tandem {

namespace detail {

NestedList::NestedList(std::initializer_list<NestedList> rows) : sizes_{static_cast<int64_t>(rows.size())} {
  for (const NestedList& row : rows) {
    TANDEM_CHECK(row.sizes_ == rows.begin()->sizes_,
                 "tensor: Expected all sub-lists to have sizes: ", rows.begin()->sizes_,
                 ", but got sub-list with sizes: ", row.sizes_);
    if (row.values_.empty()) continue;
    const bool is_first = values_.empty();
    TANDEM_CHECK(
        is_first || (values_.front().kind() == row.values_.front().kind() && narrow_dtype_ == row.narrow_dtype_),
        "tensor: Expected all elements of the tensor to have the same scalar type: ", element_dtype(),
        ", but got element of scalar type: ", row.element_dtype());
    if (is_first) narrow_dtype_ = row.narrow_dtype_;
    values_.insert(values_.end(), row.values_.begin(), row.values_.end());
  }
  if (rows.size())
    for (const int64_t s : rows.begin()->sizes_) sizes_.push_back(s);
}
Tensor NestedList::to_tensor(const TensorOptions& options) const {
  Scalar::Kind kind = values_.empty() ? empty_list_scalar_type_.kind() : Scalar::Kind::boolean;
  for (const Scalar& v : values_) kind = std::max(kind, v.kind());
  const DType inferred = narrow_dtype_                   ? *narrow_dtype_
                         : kind == Scalar::Kind::boolean ? kBool
                         : kind == Scalar::Kind::integer ? kInt64
                                                         : get_default_dtype();
  Tensor host =
      make_empty("tensor", sizes_, options.dtype_or(inferred), options.pinned_memory() ? options : TensorOptions());
  visit_dtype(host.dtype(), [&]<class T>() {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!is_floating_point(host.dtype())) detail::check_representable("tensor", host.dtype(), values_[i]);
      host.data<T>()[i] = values_[i].to<T>();
    }
  });
  return apply_requires_grad(host.to(options.device()), options);
}

}  // namespace detail

Tensor tensor(const NestedList& values, const TensorOptions& options) { return values.to_tensor(options); }
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value, options.dtype(options.dtype()));
}

}  // namespace tandem
