// Flag: type of a bool parameter that accepts a bool, 0 and 1, but no other number.
#pragma once
#include <concepts>

#include "tandem/core/version.h"

namespace tandem::detail {

/// @throws Error that lists the values of a bool argument
[[noreturn]] void throw_invalid_flag(long long value);
/// A bool parameter. As in LibTorch, x.sum(0, 1) means dimension 0 with keepdim. Other numbers, as in x.sum(0, 2), are
/// an error, because the user means dimensions.
class Flag {
 public:
  template <std::integral Number> constexpr Flag(Number value) : value_(value != 0) {
    if constexpr (!std::same_as<Number, bool>)
      if (value != Number{0} && value != Number{1}) throw_invalid_flag(static_cast<long long>(value));
  }
  constexpr operator bool() const { return value_; }

 private:
  bool value_;
};

}  // namespace tandem::detail
