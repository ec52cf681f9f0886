// Flag: a bool parameter to which only a bool converts.
#pragma once
#include <concepts>

#include "tandem/core/version.h"

namespace tandem::detail {

/// Whether an operation does something. A number does not convert to it: in x.std(0), x.sum(0, 1) and x.max(0, 1) it
/// would mean a dimension to who wrote it, and `unbiased` or `keepdim` to the compiler. The first is over dimension 0,
/// the others do not compile.
class Flag {
 public:
  template <std::same_as<bool> Bool> constexpr Flag(Bool value) : value_(value) {}
  constexpr operator bool() const { return value_; }

 private:
  bool value_;
};

}  // namespace tandem::detail
