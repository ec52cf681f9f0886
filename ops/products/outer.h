// The products of all pairs of two vectors' elements: outer, ger.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (n, m): the products of each element of a (n,) and each of b (m,).
inline Tensor outer(const Tensor& a, const Tensor& b) { return a.outer(b); }
/// Another spelling of outer.
inline Tensor ger(const Tensor& a, const Tensor& b) { return a.outer(b); }

}  // namespace tandem
