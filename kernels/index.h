// Indexing, for contiguous tensors of any dtype. Indices are int64. If an index is out of range, an error that names op
// is thrown.
#pragma once
#include "tandem/kernels/declare.h"

/// y[:, i, :] = x[:, index[i], :] for x (outer, n, inner), index (m) and y (outer, m, inner)
TANDEM_DECLARE_KERNEL(void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y))
/// y[:, index[i], :] += x[:, i, :] in order of i, for x (outer, m, inner), index (m) and y (outer, n, inner)
TANDEM_DECLARE_KERNEL(void index_add(const Tensor& x, const Tensor& index, Tensor& y))
/// y[:, index[i], :] = x[:, i, :] in order of i, for x (outer, m, inner), index (m) and y (outer, n, inner)
TANDEM_DECLARE_KERNEL(void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y))
/// y[o, i, j] = x[o, index[o, i, j], j]; index has y's shape
TANDEM_DECLARE_KERNEL(void gather(const Tensor& x, const Tensor& index, Tensor& y))
/// y[o, index[o, i, j], j] = source[o, i, j], or += if `add`; index and source have the same shape
TANDEM_DECLARE_KERNEL(void scatter(const char* op, const Tensor& index, const Tensor& source, bool add, Tensor& y))
/// Creates coordinates, an int64 tensor (number of true elements of mask, rank), and writes to it the coordinates of
/// the true elements, in order. mask is contiguous and bool
TANDEM_DECLARE_KERNEL(void nonzero(const Tensor& mask, Tensor& coordinates))
namespace tandem::kernels::cuda {
/// Concatenates the parts, matrices with `rows` rows each, along columns into y (rows, n). All are contiguous and have
/// the same dtype; y has less than 2^31 bytes
void cat(const std::vector<Tensor>& parts, Tensor& y);
}  // namespace tandem::kernels::cuda
