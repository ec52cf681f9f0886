// Sums of products in Einstein notation: einsum.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns sums of products in Einstein notation, for example "bij,bjk->bik". A letter names a dimension. Letters that
/// the right side omits are summed over. A letter repeated in one operand selects the diagonal. "..." stands for any
/// number of dimensions, which broadcast. Without "->", the result has the dimensions of "...", then the letters that
/// occur once, in alphabetical order. Operands are multiplied from left to right.
Tensor einsum(const std::string& equation, TensorList operands);

}  // namespace tandem
