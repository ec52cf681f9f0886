// NaN and infinities replaced by numbers: nan_to_num, nan_to_num_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// NaN becomes `nan` (0), and infinities become `posinf` and `neginf` (the dtype's largest and lowest numbers).
/// Integers and bool are given as they are.
inline Tensor nan_to_num(const Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                         std::optional<double> neginf = {}) {
  return x.nan_to_num(nan, posinf, neginf);
}

inline Tensor& nan_to_num_(Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                           std::optional<double> neginf = {}) {
  return x.nan_to_num_(nan, posinf, neginf);
}

}  // namespace tandem
