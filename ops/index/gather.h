// gather: reads elements along a dimension at the positions that an index names.
// Indices are int64 or int32; a 0-dim x is indexed as one dimension of one element.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns y with y[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and accordingly for other dims. y has index's shape.
inline Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, detail::Flag sparse_grad = false) {
  return x.gather(dim, index, sparse_grad);
}

}  // namespace tandem
