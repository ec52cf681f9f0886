// The identity matrix: eye.
#include "tandem/ops/factory/eye.h"

#include <algorithm>

#include "tandem/ops/factory/make_empty.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem {

Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }
Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  TANDEM_CHECK(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  TANDEM_CHECK(m >= 0, "eye: m must be greater or equal to 0, got ", m);
  Tensor out = zeros({n, m}, options.requires_grad(false));
  const int64_t diagonal = std::min(n, m);
  if (diagonal > 0) core::as_strided(out, {diagonal}, {m + 1}, 0).fill_(1);
  return apply_requires_grad(out, options);
}

}  // namespace tandem
