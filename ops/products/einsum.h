// Sums of products in Einstein notation: einsum.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Returns sums of products in Einstein notation, for example "bij,bjk->bik". A letter names a dimension. Letters that
/// the right side omits are summed over. A letter repeated in one operand selects the diagonal. "..." stands for any
/// number of dimensions, which broadcast. The result of an equation that has no "->" has the dimensions of "...", then
/// the letters that occur once, in alphabetical order. Operands are multiplied from left to right, unless `path` is
/// given. `path` lists pairs of positions in the list of operands. A pair is removed from the list, and its product is
/// appended to the list.
/// @throws Error if the path has another length than 2 (operands - 1), or a position that does not exist
Tensor einsum(const std::string& equation, TensorList operands, const detail::OptionalDims& path = {});

}  // namespace tandem
