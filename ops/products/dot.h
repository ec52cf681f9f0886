// Products of vectors with a sum: dot, vdot, inner, linalg_vecdot.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The sum of the products of two vectors of one length. vdot is another name of it.
inline Tensor dot(const Tensor& a, const Tensor& b) { return a.dot(b); }
inline Tensor vdot(const Tensor& a, const Tensor& b) { return a.dot(b); }
/// Sums of products along the last dimensions of both; with a scalar the product.
inline Tensor inner(const Tensor& a, const Tensor& b) { return a.inner(b); }
/// Sums of products along dim. Operands broadcast.
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1);

}  // namespace tandem
