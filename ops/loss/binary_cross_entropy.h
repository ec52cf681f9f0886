// Binary cross entropy: binary_cross_entropy and binary_cross_entropy_with_logits. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns -weight (t ln x + (1 - t) ln(1 - x)), where logarithms are clamped to at least -100, as in PyTorch.
/// @param x       probabilities in [0, 1]
/// @param target  values in [0, 1], with x's sizes and dtype
/// @param weight  weight of each element, which must broadcast to x's sizes; 1 if undefined
/// @throws Error  if sizes or dtypes differ, or, on the CPU, if x or target is outside [0, 1]
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                            detail::LossReduction reduction = Reduction::mean);
/// Returns binary_cross_entropy of sigmoid(x), computed in one step without overflow or loss of digits.
/// @param x           logits: any numbers
/// @param pos_weight  factor of the positive term of each class; above 1, a missed positive costs more
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {},
                                        detail::LossReduction reduction = Reduction::mean);

}  // namespace tandem
