// Operators whose first operand is a number: -, /, %.
#include "tandem/ops/elementwise/operators.h"

#include "tandem/ops/promote_operands.h"

namespace tandem {

Tensor operator-(const Scalar& a, const Tensor& b) {
  check_subtraction("sub", a.is_boolean());
  return wrap_scalar(b, a).sub(b);
}
Tensor operator/(const Scalar& a, const Tensor& b) { return wrap_scalar_as_floating(b, a).div(b); }
Tensor operator%(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).remainder(b); }

}  // namespace tandem
