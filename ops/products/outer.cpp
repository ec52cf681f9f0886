// Outer products of vectors: outer.
#include "tandem/ops/products/outer.h"

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem {

TANDEM_CAST_POLICY(none, outer);

Tensor Tensor::outer(const Tensor& other) const {
  TANDEM_CHECK(dim() == 1 && other.dim() == 1, "outer: the operands are ", sizes(), " and ", other.sizes(),
               "; accepted: (n,) and (m,)");
  return unsqueeze(1) * other;
}

}  // namespace tandem
