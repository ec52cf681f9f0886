// The logarithm of a sum of exponentials, over all elements or some dimensions: logsumexp, logsumexp_out.
// core/reduce_ops.h says how lists of dimensions are given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns ln(sum e^x), computed without overflow. Integers and bool become the default floating dtype.
inline Tensor logsumexp(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.logsumexp(dims, keepdim);
}
Tensor& logsumexp_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);

}  // namespace tandem
