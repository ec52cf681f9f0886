// Diagonals: diagonal, linalg_diagonal, diag, diagflat, diag_embed, trace, block_diag.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a view of the diagonal elements, whose index along dim2 is the index along dim1 plus `offset`. The diagonal
/// becomes the last dimension and replaces dim1 and dim2.
inline Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) {
  return x.diagonal(offset, dim1, dim2);
}
/// diagonal() as a contiguous copy.
template <class... Args> Tensor diagonal_copy(const Tensor& x, Args... args) {
  return x.diagonal(args...).clone(MemoryFormat::Contiguous);
}
/// Alias of diagonal, with the last two dimensions as defaults.
Tensor linalg_diagonal(const Tensor& a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// If x is a matrix, returns a copy of a diagonal; if x is a vector, returns the matrix with x on that diagonal and
/// zeros elsewhere.
inline Tensor diag(const Tensor& x, int64_t diagonal = 0) { return x.diag(diagonal); }
/// Returns matrices, in dimensions dim1 and dim2 of the result, with the rows of x on a diagonal and zeros elsewhere.
inline Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return x.diag_embed(offset, dim1, dim2);
}
/// Returns the matrix with all elements of x on a diagonal and zeros elsewhere.
inline Tensor diagflat(const Tensor& x, int64_t offset = 0) { return x.diagflat(offset); }
/// Returns a matrix with the tensors, of at most two dimensions, as blocks on its diagonal and zeros elsewhere. Dtypes
/// promote.
Tensor block_diag(TensorList tensors);
/// Returns the sum of a matrix's diagonal.
inline Tensor trace(const Tensor& x) { return x.trace(); }

}  // namespace tandem
