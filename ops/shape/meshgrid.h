// Coordinate grids of vectors: meshgrid.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns, for each vector, its coordinates expanded to the grid that all vectors span. With indexing "ij" the grid's
/// dimensions are in the order of the vectors; "xy" swaps the first two. @throws Error unless all are vectors or 0-dim
/// tensors of one dtype and device
std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing = "ij");

}  // namespace tandem
