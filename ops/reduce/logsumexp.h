// logsumexp: the logarithm of a sum of exponentials, over dimensions and with out.
// Lists of dimensions are as in core/reduce_ops.h, forms with `out` as in ops/elementwise/elementwise.h.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Ln(sum e^x), without overflow; of integers and bools too.
inline Tensor logsumexp(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.logsumexp(dims, keepdim);
}
Tensor& logsumexp_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);

}  // namespace tandem
