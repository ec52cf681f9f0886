// The negative log likelihood of normally distributed values: gaussian_nll_loss. LibTorch has no such function; names
// and defaults follow Python's PyTorch.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// The negative log likelihood of `target` under normal distributions with means x and variances `var`:
/// (ln v + (x - target)^2 / v) / 2 with v = max(var, eps). `full` adds the constant ln(2 pi) / 2. The gradient of `var`
/// ignores the maximum. `var` has the sizes of x, the sizes of x without the last dimension, or the sizes of x with one
/// size replaced by 1 (Nix and Weigend 1994, doi:10.1109/ICNN.1994.374138).
/// @throws Error if var has other sizes, or, on the CPU, a negative element
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full = false, double eps = 1e-6,
                         detail::LossReduction reduction = Reduction::mean);

}  // namespace tandem
