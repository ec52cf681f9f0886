// AnyValue: a value of any type, for arguments and results of modules of any type.
#pragma once
#include <any>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::detail {
/// Returns the type's name as written in C++.
std::string demangled_name(const std::type_info& type);
}  // namespace tandem::detail

namespace tandem::nn {

/// A value of any copyable type, as in LibTorch: an argument or result of an AnyModule.
class AnyValue {
 public:
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, AnyValue>) explicit AnyValue(T&& value) : value_(std::forward<T>(value)) {}
  /// Returns a pointer to the value if its type is exactly T, else null.
  template <class T> T* try_get() { return std::any_cast<T>(&value_); }
  /// Returns a pointer to the value if its type is exactly T, else null.
  template <class T> const T* try_get() const { return std::any_cast<T>(&value_); }
  /// Returns the value. @throws Error unless its type is exactly T
  template <class T> T get() const {
    const T* const found = try_get<T>();
    TANDEM_CHECK(found, "Attempted to cast AnyValue to ", detail::demangled_name(typeid(T)),
                 ", but its actual type is ", detail::demangled_name(type_info()));
    return *found;
  }
  /// Returns the type of the value.
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

}  // namespace tandem::nn
