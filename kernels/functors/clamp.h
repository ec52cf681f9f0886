// Gradient of clamp.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem {

/// Gradient of clamp: dx = dy if low < x < high, otherwise 0. A bound that is NaN is ignored. At the bounds and if x is
/// NaN, dx is 0, as in PyTorch.
template <class T> struct ClampBackward {
  T low, high;
  TANDEM_HD T operator()(T dy, T x) const { return x <= low || x >= high || x != x ? T(0) : dy; }
};

}  // namespace tandem
