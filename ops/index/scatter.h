// scatter and scatter_add: write or add elements along a dimension at the positions that an index names.
// scatter and scatter_add return a changed copy of x; the methods whose names end in _ change x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns x with elements of source written to it: y[index[i][j]][j] = source[i][j] for dim 0, and accordingly for
/// other dims. source may be larger than index; the excess is ignored.
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.scatter(dim, index, source);
}
/// Returns x with elements of source added at the positions that scatter would write. Elements with the same position
/// are summed.
inline Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.scatter_add(dim, index, source);
}
/// Overloads of scatter that write one number, and overloads with `reduce`: "add" adds source or value to the elements
/// of x, "multiply" multiplies the elements by source or value.
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.scatter(dim, index, value);
}
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                      const std::string& reduce) {
  return x.scatter(dim, index, source, reduce);
}
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value,
                      const std::string& reduce) {
  return x.scatter(dim, index, value, reduce);
}

}  // namespace tandem
