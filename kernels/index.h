// Indexing, for contiguous tensors of any dtype. Indices are int64. An index out of range is an error that names op.
#pragma once
#include "tandem/kernels/declare.h"

/// y (outer, m, inner) = x (outer, n, inner) at index (m) along the middle dimension
TANDEM_KERNEL(void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y))
/// y (outer, n, inner)[index[i]] += x (outer, m, inner)[i], in order of i
TANDEM_KERNEL(void index_add(const Tensor& x, const Tensor& index, Tensor& y))
/// y (outer, n, inner)[index[i]] = x (outer, m, inner)[i], in order of i
TANDEM_KERNEL(void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y))
/// y = x[.., index, ..] along the middle dimension; index has y's shape
TANDEM_KERNEL(void gather(const Tensor& x, const Tensor& index, Tensor& y))
/// y[.., index, ..] = source, or += source if `add`; index and source have the same shape
TANDEM_KERNEL(void scatter(const char* op, const Tensor& index, const Tensor& source, bool add, Tensor& y))
/// Creates places (hits, rank) int64: the positions at which mask (contiguous, bool) is true, in order
TANDEM_KERNEL(void nonzero(const Tensor& mask, Tensor& places))
namespace tandem::kernels::cuda {
/// Concatenates the parts (rows, m...) along columns into y (rows, n). All are contiguous and have one dtype; y has
/// less than 2^31 bytes
void cat(const std::vector<Tensor>& parts, Tensor& y);
}  // namespace tandem::kernels::cuda
