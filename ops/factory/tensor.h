// Tensors with given values: tensor, scalar_tensor.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// Values of a new tensor: a number, a list, or nested lists of equal lengths.
class NestedList {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> NestedList(T value) : values_{Scalar(value)} {}
  NestedList(std::initializer_list<NestedList> rows);
  template <class T> NestedList(const std::vector<T>& list) : sizes_{static_cast<int64_t>(list.size())} {
    for (const auto& v : list) values_.push_back(Scalar(static_cast<T>(v)));
    if (list.empty()) empty_list_scalar_type_ = Scalar(T{});
  }
  Tensor to_tensor(const TensorOptions& options) const;

 private:
  std::vector<Scalar> values_;
  Shape sizes_;
  Scalar empty_list_scalar_type_ = 0.0;
};
}  // namespace detail
/// Returns a tensor with the given values: tensor(3.0), tensor({1, 2, 3}), tensor({{1.f, 2.f}, {3.f, 4.f}}). Unless the
/// options set a dtype, it is int64 for integers, bool for bools, and the default floating dtype for floating-point
/// numbers.
Tensor tensor(const detail::NestedList& values, const TensorOptions& options = {});
/// Returns a 0-dim tensor, of the default dtype unless the options set one.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});

}  // namespace tandem
