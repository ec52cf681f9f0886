// Replacing NaN and infinities by numbers: nan_to_num, nan_to_num_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Replaces NaN by `nan` (default 0), infinity by `posinf` (default: the dtype's largest number) and -infinity by
/// `neginf` (default: the dtype's lowest number). Integers and bool are copied unchanged.
inline Tensor nan_to_num(const Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                         std::optional<double> neginf = {}) {
  return x.nan_to_num(nan, posinf, neginf);
}

inline Tensor& nan_to_num_(Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                           std::optional<double> neginf = {}) {
  return x.nan_to_num_(nan, posinf, neginf);
}

}  // namespace tandem
