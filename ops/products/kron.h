// Kronecker's product: kron.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// a with each element replaced by its product with b (Kronecker's product).
inline Tensor kron(const Tensor& a, const Tensor& b) { return a.kron(b); }

}  // namespace tandem
