// Reduction of losses: none, mean or sum; LossReduction, the type of a parameter that is one.
#pragma once
#include <concepts>
#include <cstdint>

#include "tandem/core/tensor.h"

namespace tandem {

/// Reduction of elementwise losses. The capitalized names are LibTorch's.
enum class Reduction { none, mean, sum, None = none, Mean = mean, Sum = sum };

namespace detail {
/// @throws Error that says which numbers are reductions
[[noreturn]] void throw_invalid_reduction(int64_t number);
/// A reduction as a parameter: a Reduction, or, as in LibTorch, its number, which is 0 (none), 1 (mean) or 2 (sum).
class LossReduction {
 public:
  constexpr LossReduction(Reduction reduction) : reduction_(reduction) {}
  template <std::integral Number> constexpr LossReduction(Number number) : reduction_(static_cast<Reduction>(number)) {
    const auto wide = static_cast<int64_t>(number);
    if (wide < 0 || wide > 2) throw_invalid_reduction(wide);
  }
  constexpr operator Reduction() const { return reduction_; }

 private:
  Reduction reduction_;
};
}  // namespace detail

}  // namespace tandem
