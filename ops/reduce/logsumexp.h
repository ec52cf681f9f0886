// logsumexp: the logarithm of the sum of exponentials, over all elements or some dimensions; logsumexp_out.
// core/reduce_ops.h says how a list of dimensions is given, and ops/declare_op.h what `out` must be.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Ln(sum e^x), without overflow; of integers and bools too.
inline Tensor logsumexp(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.logsumexp(dims, keepdim);
}
Tensor& logsumexp_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);

}  // namespace tandem
