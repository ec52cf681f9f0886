// Products: prod, over all elements or along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the product of all elements, or along dim. The dtype is int64 for integers and bool, unless another dtype is
/// given.
inline Tensor prod(const Tensor& x) { return x.prod(); }
inline Tensor prod(const Tensor& x, std::optional<DType> dtype) { return x.prod(dtype); }
inline Tensor prod(const Tensor& x, int64_t dim, detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return x.prod(dim, keepdim, dtype);
}

}  // namespace tandem
