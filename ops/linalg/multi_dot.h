// Products of many matrices in the cheapest order: linalg_multi_dot, chain_matmul.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the product of matrices, multiplied in the order that takes the fewest multiplications. linalg_multi_dot
/// takes two or more tensors, and the first and the last of them may be vectors.
Tensor chain_matmul(TensorList matrices);
Tensor linalg_multi_dot(TensorList tensors);

}  // namespace tandem
