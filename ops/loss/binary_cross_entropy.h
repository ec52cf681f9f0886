// Binary cross entropy: binary_cross_entropy and binary_cross_entropy_with_logits. Namespace and names as torch:: has
// them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// -weight (t ln x + (1 - t) ln(1 - x)) with logarithms of at least -100, as PyTorch's.
/// @param x       probabilities, in [0, 1]
/// @param target  of x's sizes and dtype, in [0, 1]
/// @param weight  of each element, or what broadcasts to that; none unless given
/// @throws Error  for other sizes or dtypes, and on the CPU for what is outside of [0, 1]
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                            Reduction reduction = Reduction::mean);
/// binary_cross_entropy of sigmoid(x) in one step, which neither overflows nor loses digits.
/// @param x           any numbers: logits
/// @param pos_weight  of the positive part of each class: above 1, missing a positive costs more
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, Reduction reduction = Reduction::mean);

}  // namespace tandem
