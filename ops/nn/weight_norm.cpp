// Norms of weights: norm_except_dim.
#include "tandem/ops/nn/weight_norm.h"

#include "tandem/ops/argument.h"

namespace tandem {
Tensor norm_except_dim(const Tensor& v, int64_t p, int64_t dim) {
  if (dim == -1) return v.norm(static_cast<double>(p));
  const int64_t kept = wrap_dim("norm_except_dim", dim, v.dim());
  Shape others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != kept) others.push_back(d);
  return others.empty() ? v.abs() : v.norm(static_cast<double>(p), others, /*keepdim=*/true);
}

}  // namespace tandem
