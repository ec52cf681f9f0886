// Products: prod, over all elements or along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The product of all elements, or along dim; of integers and bools int64, unless another dtype is given.
inline Tensor prod(const Tensor& x) { return x.prod(); }
inline Tensor prod(const Tensor& x, DType dtype) { return x.prod(dtype); }
inline Tensor prod(const Tensor& x, int64_t dim, detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return x.prod(dim, keepdim, dtype);
}

}  // namespace tandem
