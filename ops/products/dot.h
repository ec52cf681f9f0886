// Scalar products of vectors: dot, vdot, inner, linalg_vecdot.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the scalar product of two vectors of equal length. vdot is an alias.
inline Tensor dot(const Tensor& a, const Tensor& b) { return a.dot(b); }
inline Tensor vdot(const Tensor& a, const Tensor& b) { return a.dot(b); }
/// Returns the scalar products along the last dimensions of a and b, or the product if one of them is 0-dim.
inline Tensor inner(const Tensor& a, const Tensor& b) { return a.inner(b); }
/// Returns the scalar products along dim. Operands broadcast.
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1);

}  // namespace tandem
