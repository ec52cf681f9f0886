// index_reduce: reduces the slices whose indices name one position.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
// Indices are int64 or int32; source has the dtype and device of x.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Joins slices of source that meet in one slice of x: reduce is "prod", "mean", "amax" or "amin", and of
/// scatter_reduce, which goes by elements as scatter does, "sum" too. What x had there counts as well, unless
/// include_self is false. Means of integers are rounded down. Extremes share the gradient evenly where several are
/// equal; x's element takes a share even if include_self is false, which is then lost, as in PyTorch.
inline Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                           const std::string& reduce, detail::Flag include_self = true) {
  return x.index_reduce(dim, index, source, reduce, include_self);
}

}  // namespace tandem
