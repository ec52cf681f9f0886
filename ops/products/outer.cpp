// Outer products of vectors: outer.
#include "tandem/ops/products/outer.h"

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem {

TANDEM_CAST_POLICY(none, outer);

Tensor Tensor::outer(const Tensor& other) const {
  TANDEM_CHECK(dim() == 1, "outer: Expected 1-D argument self, but got ", dim(), "-D");
  TANDEM_CHECK(other.dim() == 1, "outer: Expected 1-D argument vec2, but got ", other.dim(), "-D");
  return unsqueeze(1) * other;
}

}  // namespace tandem
