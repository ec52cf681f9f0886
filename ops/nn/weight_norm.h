// Norms of weights: norm_except_dim.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (sum |v|^p)^(1/p) over all dimensions but dim, which stay with size 1; dim -1: over all, of no dimension.
Tensor norm_except_dim(const Tensor& v, int64_t p = 2, int64_t dim = 0);

}  // namespace tandem
