// Joining and indexing.
#pragma once
#include <ostream>
#include <variant>

#include "tandem/core/tensor.h"

namespace tandem {

/// Tensors joined along an existing dimension; the other sizes must agree, except that a tensor of shape (0,) may stand
/// beside any. dtypes promote.
Tensor cat(TensorList tensors, int64_t dim = 0);
/// Another spelling of cat.
inline Tensor concat(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
inline Tensor concatenate(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
/// Tensors of one shape joined along a new dimension.
Tensor stack(TensorList tensors, int64_t dim = 0);
/// All elements of all tensors in one vector, one tensor behind the other.
Tensor flatten_dense_tensors(TensorList tensors);
/// What flatten_dense_tensors joined, cut again into tensors of the sizes of `tensors`: views of `flat`.
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors);
// Indices are int64 or int32; a scalar is indexed as one dimension of one element.

/// Slices of x along dim at the positions of a 1-d index. @throws IndexError on a position out of range
inline Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) { return x.index_select(dim, index); }
/// y[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on; index is of the output's shape.
inline Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) { return x.gather(dim, index); }
/// x with source written where index says: y[index[i][j]][j] = source[i][j] for dim 0, and so on. source may be larger
/// than index: what is beyond is left out.
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.scatter(dim, index, source);
}
/// x with source added where index says: what meets in one place is added up.
inline Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.scatter_add(dim, index, source);
}
/// The elements at which mask is true, as a 1-d tensor.
inline Tensor masked_select(const Tensor& x, const Tensor& mask) { return x.masked_select(mask); }
// What writes by index: ops/index/scatter.h. What searches: ops/reduce/search.h.

/// Positions of non-zero elements: (count, dim) int64.
Tensor nonzero(const Tensor& x);
/// (N, num_classes) int64 with a one at each target.
Tensor one_hot(const Tensor& target, int64_t num_classes = -1);
/// Rows of weight (V, D) at the indices of any shape: index.sizes() + (D,). The row padding_idx gets no gradient. A
/// negative padding_idx means no row; nn::functional::embedding takes it as counted from the end.
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {});

/// weight with those of its rows that index names, and whose p-norm is above max_norm, made that short. It records
/// nothing.
Tensor& embedding_renorm_(Tensor& weight, const Tensor& index, double max_norm, double norm_type);
inline Tensor embedding_renorm(const Tensor& weight, const Tensor& index, double max_norm, double norm_type) {
  Tensor copy = weight.detach().clone();
  return embedding_renorm_(copy, index, max_norm, norm_type);
}

namespace indexing {
/// The type of Ellipsis.
enum class EllipsisIndexType { Ellipsis };
/// Python's `...`: all dimensions that the other entries leave.
constexpr auto Ellipsis = EllipsisIndexType::Ellipsis;
/// Python's None: a new dimension of size 1.
constexpr std::nullopt_t None = std::nullopt;
/// start:stop:step along one dimension; what is left out means from the first, to the last, by one.
struct Slice {
  /// The first position and the one behind the last; negative ones count from the end.
  std::optional<int64_t> start, stop;
  /// From one position to the next; positive.
  int64_t step;
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1)
      : start(start), stop(stop), step(step) {}
  /// start:stop:step, where what was left out is 0 and the largest int64, or for a negative step its reverse.
  friend std::ostream& operator<<(std::ostream& out, const Slice& slice);
};
/// One entry of index({...}): a number, a slice, None (a new dimension), Ellipsis, or an int64, int32 or bool tensor.
/// Several tensors broadcast, and point together. An integer tensor of no dimension is a number, a bool (tensor) of
/// none a mask of a new dimension of size 1. Without tensors that point, the result is a view.
class TensorIndex {
 public:
  template <class T>
  requires std::is_integral_v<T> TensorIndex(T index) {
    if constexpr (std::is_same_v<T, bool>)
      entry = detail::core::scalar(index, kBool, kCPU);
    else
      entry = static_cast<int64_t>(index);
  }
  TensorIndex(Slice slice) : entry(slice) {}
  TensorIndex(std::nullopt_t) : entry(std::monostate()) {}
  TensorIndex(EllipsisIndexType e) : entry(e) {}
  /// The ellipsis. @throws Error unless it is written "..."
  TensorIndex(const char* ellipsis);
  TensorIndex(Tensor index) : entry(std::move(index)) {}
  /// What it is; std::monostate for None.
  std::variant<std::monostate, int64_t, Slice, EllipsisIndexType, Tensor> entry;
  /// The entry as it is written in an index: a number, start:stop:step, None, ..., true, false or the tensor.
  friend std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
};
}  // namespace indexing

}  // namespace tandem
