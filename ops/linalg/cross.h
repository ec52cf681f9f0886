// Cross products: cross, linalg_cross.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the cross product along dim, whose size must be 3; the default is the first dimension of size 3. Operands
/// broadcast.
inline Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim = {}) { return a.cross(b, dim); }
/// Alias of cross, whose dim defaults to -1.
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim = -1);

}  // namespace tandem
