// Indexing, for any dtype; contiguous. Indices are int64 and are checked, and an error names op.
#pragma once
#include "tandem/kernels/declare.h"

/// y (outer, m, inner) = x (outer, n, inner) at index (m)
TANDEM_KERNEL(void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y))
/// y (outer, n, inner)[index[i]] += x (outer, m, inner)[i], in order of i
TANDEM_KERNEL(void index_add(const Tensor& x, const Tensor& index, Tensor& y))
/// y (outer, n, inner)[index[i]] = x (outer, m, inner)[i], in order of i
TANDEM_KERNEL(void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y))
/// Along the middle dimension, index of y's shape: y = x[.., index, ..]
TANDEM_KERNEL(void gather(const Tensor& x, const Tensor& index, Tensor& y))
/// y[.., index, ..] = or += source; index and source have one shape
TANDEM_KERNEL(void scatter(const char* op, const Tensor& index, const Tensor& source, bool add, Tensor& y))
/// places (hits, rank) int64, made here: where mask (contiguous, bool) is true, in its order
TANDEM_KERNEL(void nonzero(const Tensor& mask, Tensor& places))
namespace tandem::kernels::cuda {
/// y (rows, n) = the parts (rows, m...), contiguous and of its dtype, side by side. y has less than 2^31 bytes
void cat(const std::vector<Tensor>& parts, Tensor& y);
}  // namespace tandem::kernels::cuda
