// The gradient of clamping.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem {

/// dx = dy where x lies between the bounds. A bound that is NaN is none; a bound itself, and an x that is NaN, have no
/// slope, as in PyTorch.
template <class T> struct ClampSlope {
  T low, high;
  TANDEM_HD T operator()(T dy, T x) const { return x <= low || x >= high || x != x ? T(0) : dy; }
};

}  // namespace tandem
