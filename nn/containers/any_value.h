// A value of any type: what modules of any kind take and give.
#pragma once
#include <any>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::detail {
/// The type's name as C++ spells it.
std::string name_of(const std::type_info& type);
}  // namespace tandem::detail

namespace tandem::nn {

/// A value of any copyable type, as LibTorch's: what AnyModule takes and gives.
class AnyValue {
 public:
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, AnyValue>) explicit AnyValue(T&& value) : value_(std::forward<T>(value)) {}
  /// The value where it is a T (exactly, without conversions), else null.
  template <class T> T* try_get() { return std::any_cast<T>(&value_); }
  /// The value as a T; null when it is something else.
  template <class T> const T* try_get() const { return std::any_cast<T>(&value_); }
  /// @throws Error unless it is a T
  template <class T> T get() const {
    const T* const found = try_get<T>();
    TANDEM_CHECK(found, "AnyValue: asked for a ", detail::name_of(typeid(T)), "; the value is a ",
                 detail::name_of(type_info()));
    return *found;
  }
  /// The type of the value.
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

}  // namespace tandem::nn
