// Comparisons: the lists in core/elementwise_ops.h, isclose, isreal, isposinf, isneginf.
#include "tandem/ops/elementwise/compare.h"

#include <limits>

#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/bitwise.h"
#include "tandem/ops/elementwise/logical.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem {
using namespace detail;

namespace {
namespace line {
TANDEM_ORDER_OPS(TANDEM_COMPARISON_LINE)
}  // namespace line
}  // namespace

TANDEM_ORDER_OPS(TANDEM_DEFINE_BINARY)
#define TANDEM_DEFINE_PREDICATE(name, ...)                       \
  Tensor Tensor::name() const {                                  \
    Tensor y = core::empty_for(sizes(), kBool, device(), *this); \
    TANDEM_DISPATCH(device(), name, *this, y);                   \
    return y;                                                    \
  }
TANDEM_PREDICATE_OPS(TANDEM_DEFINE_PREDICATE)
#undef TANDEM_DEFINE_PREDICATE

Tensor Tensor::isposinf() const {
  return is_floating_point() ? *this == std::numeric_limits<double>::infinity() : zeros_like(*this, kBool);
}
Tensor Tensor::isneginf() const {
  return is_floating_point() ? *this == -std::numeric_limits<double>::infinity() : zeros_like(*this, kBool);
}
Tensor Tensor::isreal() const { return ones_like(*this, kBool); }
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  TANDEM_CHECK(dtype() == other.dtype(), "isclose: a is ", dtype(), " and b is ", other.dtype(),
               "; both must be of one dtype");
  TANDEM_CHECK(rtol >= 0 && atol >= 0, "isclose: rtol is ", rtol, " and atol ", atol, "; accepted: 0 or more");
  const NoGradGuard guard;
  const Tensor a = to(kFloat64), b = other.to(kFloat64), off = (a - b).abs();
  const Tensor close = (a == b) | (off.isfinite() & (off <= b.abs() * rtol + atol));
  return equal_nan ? close | (a.isnan() & b.isnan()) : close;
}

}  // namespace tandem
