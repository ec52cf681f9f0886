// Comparisons: those listed in core/elementwise_ops.h (eq, ..., isnan, ...), and isclose, allclose, equal, isin,
// isreal, isposinf, isneginf.
#include "tandem/ops/elementwise/compare.h"

#include <cmath>
#include <limits>
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce/searchsorted.h"

namespace tandem {

TANDEM_CAST_POLICY(none, isclose, isin, isneginf, isreal);

Tensor isin(const Tensor& elements, const Tensor& test_elements, Flag, Flag invert) {
  TANDEM_CHECK(elements.dtype() != kBool && test_elements.dtype() != kBool,
               "isin: Unsupported input type encountered for isin(): ", kBool, "; accepted: every other dtype");
  const NoGradGuard guard;
  const DType type = result_type(elements, test_elements);
  const Tensor x = elements.to(type), others = std::get<0>(test_elements.to(type).reshape({-1}).sort());
  const bool wanted = !invert;
  if (others.numel() == 0) return full(x.sizes(), !wanted, TensorOptions(kBool).device(x.device()));
  // Replaces NaNs, which are sorted last, by infinity, because a binary search must not compare with a NaN.
  const Tensor keys = is_floating_point(type) ? others.nan_to_num(INFINITY, INFINITY, -INFINITY) : others;
  const Tensor flat = x.reshape({-1}), at = searchsorted(keys, flat).clamp_max(others.numel() - 1);
  const Tensor found = others.index_select(0, at) == flat;
  return (wanted ? found : found.logical_not()).reshape(x.sizes());
}
Tensor isin(const Tensor& elements, const Scalar& test_element, Flag assume_unique, Flag invert) {
  return isin(elements, wrapped_scalar_tensor(elements, test_element), assume_unique, invert);
}
Tensor isin(const Scalar& element, const Tensor& test_elements, Flag assume_unique, Flag invert) {
  return isin(wrapped_scalar_tensor(test_elements, element), test_elements, assume_unique, invert);
}

bool Tensor::equal(const Tensor& other) const {
  if (sizes() != other.sizes()) return false;
  const NoGradGuard guard;
  return eq(other).all().item<bool>();
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  check_same_dtype("allclose", "x", *this, "other", other);
  broadcast_shapes("allclose", sizes(), other.sizes());
  return isclose(other, rtol, atol, equal_nan).all().item<bool>();
}

using namespace detail;

namespace {
namespace op_descriptor {
TANDEM_COMPARISON_OPS(TANDEM_DEFINE_COMPARISON_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_COMPARISON_OPS(TANDEM_DEFINE_BINARY_OP)
#define TANDEM_DEFINE_PREDICATE(name, ...)                          \
  Tensor Tensor::name() const {                                     \
    Tensor y = core::empty_result(sizes(), kBool, device(), *this); \
    TANDEM_DISPATCH(device(), name, *this, y);                      \
    return y;                                                       \
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
  check_same_dtype("isclose", "x", *this, "other", other);
  TANDEM_CHECK(rtol >= 0, "isclose: rtol must be greater than or equal to zero, but got ", rtol);
  TANDEM_CHECK(atol >= 0, "isclose: atol must be greater than or equal to zero, but got ", atol);
  const NoGradGuard guard;
  const Tensor a = to(kFloat64), b = other.to(kFloat64), off = (a - b).abs();
  const Tensor close = (a == b) | (off.isfinite() & (off <= b.abs() * rtol + atol));
  return equal_nan ? close | (a.isnan() & b.isnan()) : close;
}

}  // namespace tandem
