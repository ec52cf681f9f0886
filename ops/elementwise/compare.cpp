// Predicates of a tensor: is_nonzero.
#include "tandem/ops/elementwise/compare.h"

namespace tandem {

bool Tensor::is_nonzero() const {
  TANDEM_CHECK(numel() == 1, "is_nonzero: the tensor is ", sizes(), "; accepted: one element");
  const Scalar value = item();
  return value.is_floating_point() ? value.to_double() != 0 : value.to_int64() != 0;
}

}  // namespace tandem
