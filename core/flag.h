// Flag: type of a bool parameter that accepts only a bool.
#pragma once
#include <concepts>

#include "tandem/core/version.h"

namespace tandem::detail {

/// A bool parameter to which numbers do not convert. In x.std(0), x.sum(0, 1) and x.max(0, 1) the user means
/// dimensions, but with plain bool parameters the compiler would take the numbers for `unbiased` or `keepdim`. With
/// Flag, the first reduces over dimension 0 and the others do not compile.
class Flag {
 public:
  template <std::same_as<bool> Bool> constexpr Flag(Bool value) : value_(value) {}
  constexpr operator bool() const { return value_; }

 private:
  bool value_;
};

}  // namespace tandem::detail
