// The grid that vectors span: meshgrid.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The grid that vectors span, one tensor of it for each vector. Indexing "ij" has the dimensions in the vectors'
/// order, "xy" the first two of them exchanged. @throws Error unless all are vectors or scalars of one dtype and device
std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing = "ij");

}  // namespace tandem
