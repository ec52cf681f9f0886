// Sums of products in Einstein's notation: einsum.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Sums of products in Einstein's notation: "bij,bjk->bik". A letter names a dimension; one that the right side leaves
/// out is summed over; repeated in one operand it means the diagonal; "..." are further dimensions, which broadcast.
/// Without "->" the result has the letters that occur once, in order of the alphabet.
/// Operands are multiplied from left to right.
Tensor einsum(const std::string& equation, TensorList operands);

}  // namespace tandem
