// Elements in another order or number: flips, rolls, tiles, splits, joins and diagonals.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

// ---- views: they share x's storage
/// x with the dimensions `source` moved to the places `destination`; the others keep their order.
/// @throws Error unless both lists are of one length and name each dimension once
inline Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor movedim(const Tensor& x, int64_t source, int64_t destination) { return x.movedim(source, destination); }
// Other spellings of movedim, transpose, reshape({-1}), expand and unflatten.

inline Tensor moveaxis(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return x.movedim(source, destination);
}
inline Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination) { return x.movedim(source, destination); }
inline Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) { return x.transpose(axis0, axis1); }
inline Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) { return x.transpose(dim0, dim1); }
inline Tensor t(const Tensor& x) { return x.t(); }
/// reshape({-1}): all elements in one dimension, as a view where the strides allow.
inline Tensor ravel(const Tensor& x) { return x.ravel(); }
inline Tensor broadcast_to(const Tensor& x, IntArrayRef sizes) { return x.expand(sizes); }
inline Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) { return x.unflatten(dim, sizes); }
/// All in the shape that they broadcast to. @throws Error unless they do
std::vector<Tensor> broadcast_tensors(TensorList tensors);
/// A view of x with at least that many dimensions: x itself where it has them, else with sizes of 1 added.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);
/// Into `sections` parts of nearly one size, the first of them one longer, or before each of the indices, which need
/// not be in range.
inline std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0) {
  return x.tensor_split(sections, dim);
}
inline std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim = 0) {
  return x.tensor_split(indices, dim);
}
/// tensor_split along dimension 1 (of one dimension: 0), 0 and 2. @throws Error unless `sections` divides the size
inline std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) { return x.hsplit(sections); }
inline std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices) { return x.hsplit(indices); }
inline std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) { return x.vsplit(sections); }
inline std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices) { return x.vsplit(indices); }
inline std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) { return x.dsplit(sections); }
inline std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices) { return x.dsplit(indices); }
/// The elements whose places along dim2 are those along dim1 plus `offset`, as a last dimension in place of both.
inline Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) {
  return x.diagonal(offset, dim1, dim2);
}
/// The grid that vectors span, one tensor of it for each vector. Indexing "ij" has the dimensions in the vectors'
/// order, "xy" the first two of them exchanged. @throws Error unless all are vectors or scalars of one dtype and device
std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing = "ij");

// ---- copies
/// x.narrow(dim, start, length) with storage of its own.
inline Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow_copy(dim, start, length);
}
/// The elements in reverse order along each of dims; fliplr: along dimension 1, flipud: along 0.
inline Tensor flip(const Tensor& x, IntArrayRef dims) { return x.flip(dims); }
inline Tensor fliplr(const Tensor& x) { return x.fliplr(); }
inline Tensor flipud(const Tensor& x) { return x.flipud(); }
/// The elements moved on by `shifts` along dims, those beyond the end to the beginning; without dims in row-major
/// order.
inline Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {}) { return x.roll(shifts, dims); }
/// Turned by 90 degrees k times, from the first of dims towards the second.
inline Tensor rot90(const Tensor& x, int64_t k = 1, IntArrayRef dims = {0, 1}) { return x.rot90(k, dims); }
/// As repeat, but of a list that is too short the first dimensions are not repeated.
inline Tensor tile(const Tensor& x, IntArrayRef repeats) { return x.tile(repeats); }
/// Each slice along dim `repeats` times in turn: one number for all or one for each (int64 or int32). Without dim, the
/// elements in row-major order.
inline Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {}) {
  return x.repeat_interleave(repeats, dim);
}
inline Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim = {}) {
  return x.repeat_interleave(repeats, dim);
}
/// 0 repeats[0] times, 1 repeats[1] times, and so on.
Tensor repeat_interleave(const Tensor& repeats);
/// Joined along the second dimension (vectors: the first), the first and the third, which are added where missing.
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor dstack(TensorList tensors);
/// As hstack, with vectors and scalars as columns; row_stack is another spelling of vstack.
Tensor column_stack(TensorList tensors);
inline Tensor row_stack(TensorList tensors) { return vstack(tensors); }
/// Of a matrix its diagonal, of a vector the matrix that has it as that diagonal and is 0 elsewhere.
inline Tensor diag(const Tensor& x, int64_t diagonal = 0) { return x.diag(diagonal); }
/// Matrices, in the dimensions dim1 and dim2 of the result, with the rows of x on a diagonal and 0 elsewhere.
inline Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return x.diag_embed(offset, dim1, dim2);
}
/// Matrices (..., n, m) with 0 above (tril) or below (triu) a diagonal.
inline Tensor tril(const Tensor& x, int64_t diagonal = 0) { return x.tril(diagonal); }
inline Tensor triu(const Tensor& x, int64_t diagonal = 0) { return x.triu(diagonal); }
inline Tensor& tril_(Tensor& x, int64_t diagonal = 0) { return x.tril_(diagonal); }
inline Tensor& triu_(Tensor& x, int64_t diagonal = 0) { return x.triu_(diagonal); }
/// The places (2, count) of such triangles of a matrix of `row` rows and `col` columns, int64 unless the options name
/// another dtype.
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
/// The matrix that has x's elements on a diagonal.
inline Tensor diagflat(const Tensor& x, int64_t offset = 0) { return x.diagflat(offset); }
/// The matrix of 0 with the tensors, matrices or less, as blocks on its diagonal. dtypes promote.
Tensor block_diag(TensorList tensors);
/// All rows that take one element of each vector, the last changing first; of one vector itself.
Tensor cartesian_prod(TensorList tensors);
/// All rows of r elements of a vector, in its order; with_replacement: of an element as often as there is room.
Tensor combinations(const Tensor& x, int64_t r = 2, detail::Flag with_replacement = false);
/// Rows of the powers N - 1, ..., 1, 0 of each element of a vector, or with `increasing` the other way round; N is its
/// length unless given.
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, detail::Flag increasing = false);
/// The sum of a matrix's diagonal.
inline Tensor trace(const Tensor& x) { return x.trace(); }

}  // namespace tandem
