// Sums with a scaled product or quotient: addcmul, addcdiv.
#include "tandem/ops/elementwise/addcmul.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, addcdiv, addcmul);

Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  const DType type = result_type(*this, a, b);
  check_accepted("addcmul", Accepts::numbers, type);
  // For an integer result, the fraction of `value` is dropped, as in PyTorch; the dtype must hold the number.
  const Scalar factor =
      visit_dtype(type, [&]<class T>() { return std::is_integral_v<T> ? Scalar(value.to<T>()) : value; });
  return to(type) + a.to(type) * factor * b.to(type);  // same order as PyTorch, which decides what overflows
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return formula_inplace("addcmul_", self(), {a, b}, [&](const Tensor& x) { return x.addcmul(a, b, value); });
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  TANDEM_CHECK(a.is_floating_point() || b.is_floating_point(), "addcdiv: the operands are ", a.dtype(), " and ",
               b.dtype(), "; accepted: floating point for one of them");
  const DType type = result_type(*this, a, b);
  return to(type) + a.to(type) * value / b.to(type);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return formula_inplace("addcdiv_", self(), {a, b}, [&](const Tensor& x) { return x.addcdiv(a, b, value); });
}

}  // namespace tandem
