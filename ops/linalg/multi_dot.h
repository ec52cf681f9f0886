// Products of many matrices in the cheapest order: linalg_multi_dot, chain_matmul.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The product of matrices in the order that takes the fewest multiplications. linalg_multi_dot: of two or more, of
/// which the first and the last may be vectors.
Tensor chain_matmul(TensorList matrices);
Tensor linalg_multi_dot(TensorList tensors);

}  // namespace tandem
