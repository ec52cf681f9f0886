// Diagonals: diagonal, linalg_diagonal, diag, diagflat, diag_embed, trace, block_diag.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements whose places along dim2 are those along dim1 plus `offset`, as a last dimension in place of both.
inline Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) {
  return x.diagonal(offset, dim1, dim2);
}
/// diagonal() with storage of its own, row-major.
template <class... Args> Tensor diagonal_copy(const Tensor& x, Args... args) {
  return x.diagonal(args...).clone(MemoryFormat::Contiguous);
}
/// Another spelling of diagonal, of the last two dimensions.
Tensor linalg_diagonal(const Tensor& a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// Of a matrix its diagonal, of a vector the matrix that has it as that diagonal and is 0 elsewhere.
inline Tensor diag(const Tensor& x, int64_t diagonal = 0) { return x.diag(diagonal); }
/// Matrices, in the dimensions dim1 and dim2 of the result, with the rows of x on a diagonal and 0 elsewhere.
inline Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return x.diag_embed(offset, dim1, dim2);
}
/// The matrix that has x's elements on a diagonal.
inline Tensor diagflat(const Tensor& x, int64_t offset = 0) { return x.diagflat(offset); }
/// The matrix of 0 with the tensors, matrices or less, as blocks on its diagonal. dtypes promote.
Tensor block_diag(TensorList tensors);
/// The sum of a matrix's diagonal.
inline Tensor trace(const Tensor& x) { return x.trace(); }

}  // namespace tandem
