// Kronecker products: kron.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the Kronecker product: each element of a is replaced by its product with b.
inline Tensor kron(const Tensor& a, const Tensor& b) { return a.kron(b); }

}  // namespace tandem
