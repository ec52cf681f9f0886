// Tensors with given values: tensor, scalar_tensor.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// Values of a new tensor: a number, a list, or nested lists of equal lengths.
class NestedList {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> NestedList(T value) : values_{Scalar(value)}, narrow_dtype_(narrow_dtype<T>()) {}
  NestedList(Half value) : values_{Scalar(value)}, narrow_dtype_(kHalf) {}
  NestedList(BFloat16 value) : values_{Scalar(value)}, narrow_dtype_(kBFloat16) {}
  NestedList(std::initializer_list<NestedList> rows);
  template <class T>
  NestedList(const std::vector<T>& list) : sizes_{static_cast<int64_t>(list.size())}, narrow_dtype_(narrow_dtype<T>()) {
    for (const auto& v : list) values_.push_back(Scalar(static_cast<T>(v)));
    if (list.empty()) empty_list_scalar_type_ = Scalar(T{});
  }
  template <class T> NestedList(ArrayRef<T> list) : NestedList(list.vec()) {}
  Tensor to_tensor(const TensorOptions& options) const;

 private:
  /// Returns T's dtype if T is a number of less than 32 bits, but no bool.
  template <class T> static std::optional<DType> narrow_dtype() {
    if constexpr (sizeof(T) < 4 && !std::is_same_v<T, bool>) return dtype_of<T>();
    return {};
  }
  /// Returns the dtype of the first number; there must be one.
  DType element_dtype() const { return narrow_dtype_ ? *narrow_dtype_ : values_.front().dtype(); }
  std::vector<Scalar> values_;
  Shape sizes_;
  Scalar empty_list_scalar_type_ = 0.0;
  std::optional<DType> narrow_dtype_;  // dtype of numbers of less than 32 bits, which the tensor then has too
};
}  // namespace detail
/// Returns a tensor with the given values: tensor(3.0), tensor({1, 2, 3}), tensor({{1.f, 2.f}, {3.f, 4.f}}). Unless the
/// options set a dtype, it is int64 for integers, bool for bools, the default floating dtype for floating-point
/// numbers, and the dtype of the numbers if they have less than 32 bits, such as uint8_t or Half.
Tensor tensor(const detail::NestedList& values, const TensorOptions& options = {});
/// Returns a 0-dim tensor, of the default dtype unless the options set one.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});

}  // namespace tandem
