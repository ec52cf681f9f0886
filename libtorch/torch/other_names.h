// LibTorch's names for features that Tandem has under another name, and a few small classes.
#pragma once
#include <complex>
#include <string_view>

#include "tandem/autograd/node.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

using std::string_view;

/// An optional list: a list of dimensions, or none.
template <class T> class OptionalArrayRef {
 public:
  OptionalArrayRef() = default;
  OptionalArrayRef(std::nullopt_t) {}
  template <class List>
  requires(std::is_convertible_v<List&&, ArrayRef<T>> && !std::is_same_v<std::decay_t<List>, OptionalArrayRef>)
      OptionalArrayRef(List&& list)
      : list_(ArrayRef<T>(std::forward<List>(list))) {}
  OptionalArrayRef(const std::optional<ArrayRef<T>>& list) : list_(list) {}
  explicit operator bool() const { return list_.has_value(); }
  bool has_value() const { return list_.has_value(); }
  const ArrayRef<T>& value() const { return list_.value(); }
  ArrayRef<T> value_or(ArrayRef<T> other) const { return list_.value_or(other); }
  const ArrayRef<T>& operator*() const { return *list_; }
  const ArrayRef<T>* operator->() const { return &*list_; }
  operator std::optional<ArrayRef<T>>() const { return list_; }
  /// The list; an empty one if there is none. Reductions take an empty list for all dimensions.
  operator ArrayRef<T>() const { return list_.value_or(ArrayRef<T>()); }
  /// The list as the type that functions here take.
  operator detail::OptionalDims() const requires(std::is_same_v<T, int64_t>) {
    return list_ ? detail::OptionalDims(*list_) : detail::OptionalDims();
  }
  void reset() { list_.reset(); }

 private:
  std::optional<ArrayRef<T>> list_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

/// The type of the real part of a number.
template <class T> struct scalar_value_type { using type = T; };
template <class T> struct scalar_value_type<std::complex<T>> { using type = T; };

/// Returns "CPU" or "CUDA", or the name in lower case.
inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
  return type == kCUDA ? (lower_case ? "cuda" : "CUDA") : (lower_case ? "cpu" : "CPU");
}

namespace autograd {
/// Returns a leaf that shares the elements of `data`. The last argument has no effect.
inline Variable make_variable(const Tensor& data, bool requires_grad = false,
                              bool /*allow_tensor_metadata_change*/ = true) {
  return data.defined() ? data.detach().requires_grad_(requires_grad) : Variable();
}
}  // namespace autograd

/// Sets the default dtype until the guard ends.
class AutoDefaultDtypeMode {
 public:
  explicit AutoDefaultDtypeMode(DType dtype) : before_(get_default_dtype()) { set_default_dtype(dtype); }
  ~AutoDefaultDtypeMode() { set_default_dtype(before_); }
  AutoDefaultDtypeMode(const AutoDefaultDtypeMode&) = delete;

 private:
  DType before_;
};
inline DType get_default_dtype_as_scalartype() { return get_default_dtype(); }

}  // namespace tandem
