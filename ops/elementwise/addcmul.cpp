// Sums with a scaled product or quotient: addcmul, addcdiv.
#include "tandem/ops/elementwise/addcmul.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, addcdiv, addcmul);

Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  if (const Autocast cast{cast_policy::addcmul, *this, a, b}) return cast(*this).addcmul(cast(a), cast(b), value);
  const DType type = result_type(*this, a, b);
  check_accepted_dtype("addcmul", AcceptedDtypes::numbers, type);
  // If the result has an integer dtype, the fraction of `value` is dropped, as in PyTorch. A `value` out of the dtype's
  // range is an error.
  const Scalar factor =
      visit_dtype(type, [&]<class T>() { return std::is_integral_v<T> ? Scalar(value.to<T>()) : value; });
  // Multiplies in the same order as PyTorch, so that the same products overflow.
  return to(type) + a.to(type) * factor * b.to(type);
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return compute_inplace("addcmul_", self(), {a, b}, [&](const Tensor& x) { return x.addcmul(a, b, value); });
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  if (const Autocast cast{cast_policy::addcdiv, *this, a, b}) return cast(*this).addcdiv(cast(a), cast(b), value);
  TANDEM_CHECK(a.is_floating_point() || b.is_floating_point(),
               "addcdiv: Integer division with addcdiv is no longer supported, but the operands are ", a.dtype(),
               " and ", b.dtype(), "; one must be floating point");
  const DType type = result_type(*this, a, b);
  return to(type) + a.to(type) * value / b.to(type);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return compute_inplace("addcdiv_", self(), {a, b}, [&](const Tensor& x) { return x.addcdiv(a, b, value); });
}

}  // namespace tandem
