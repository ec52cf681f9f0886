// Matrices of powers: vander, linalg_vander.
#include "tandem/ops/linalg/vander.h"

#include <algorithm>

#include "tandem/ops/linalg/host_lapack.h"

namespace tandem {

TANDEM_CAST_POLICY(none, linalg_vander, vander);

Tensor vander(const Tensor& x, std::optional<int64_t> N, Flag increasing) {
  TANDEM_CHECK(x.dim() == 1, "vander: x must be a one-dimensional tensor, got ", x.sizes());
  const int64_t n = N.value_or(x.size(0));
  TANDEM_CHECK(n >= 0, "vander: N must be non-negative, got ", n);
  const Tensor base = is_floating_point(x.dtype()) ? x : x.to(kInt64);
  std::vector<Tensor> columns;
  for (int64_t k = 0; k < n; ++k) columns.push_back(k == 0 ? ones_like(base) : columns.back() * base);
  if (columns.empty()) return zeros({x.size(0), 0}, base.options());
  if (!increasing) std::reverse(columns.begin(), columns.end());
  return stack(columns, 1);
}
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  TANDEM_CHECK(x.dim() >= 1, "linalg_vander: x must have at least 1 dimension, got a scalar");
  TANDEM_CHECK(x.dtype() != kBool, "linalg_vander supports floating point, complex, and integer tensors, but got ",
               x.dtype());
  const int64_t columns = N.value_or(x.size(-1));
  TANDEM_CHECK(columns > 1, "linalg_vander: N must be greater than 1, got ", columns);
  const Tensor powers = x.unsqueeze(-1).expand(append_sizes(x.sizes(), {columns - 1})).cumprod(-1);
  return cat({ones(append_sizes(x.sizes(), {1}), powers.options()), powers}, -1);
}

}  // namespace tandem
