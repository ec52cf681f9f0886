// Cross products: cross, linalg_cross.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The cross product along dim, of size 3; without it along the first dimension of that size. Operands broadcast.
inline Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim = {}) { return a.cross(b, dim); }
/// Another spelling of cross.
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim = -1);

}  // namespace tandem
