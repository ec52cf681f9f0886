// Outer products of vectors: outer, ger.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the outer product (n, m): the products of each element of a (n,) with each element of b (m,).
inline Tensor outer(const Tensor& a, const Tensor& b) { return a.outer(b); }
/// Alias of outer.
inline Tensor ger(const Tensor& a, const Tensor& b) { return a.outer(b); }

}  // namespace tandem
