// scatter and scatter_add: write or add elements along a dimension at the positions that an index names.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// x with source written where index says: y[index[i][j]][j] = source[i][j] for dim 0, and so on. source may be larger
/// than index: what is beyond is left out.
inline Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.scatter(dim, index, source);
}
/// x with source added where index says: what meets in one place is added up.
inline Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return x.scatter_add(dim, index, source);
}
/// scatter of one number; with `reduce`, "add" or "multiply", it is joined with what was there.
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
