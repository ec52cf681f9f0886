// Prepares operands for kernels: turns numbers into tensors, promotes dtypes, and determines devices.
#include "tandem/ops/promote_operands.h"

#include "tandem/kernels/elementwise.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/promotion.h"

namespace tandem {
namespace detail {

void check_divisor(const char* op, const Tensor& b, const Shape& sizes) {
  if (!is_floating_point(b.dtype()) && kernels::checks_divisors(b.device()) && numel_of(sizes) > 0)
    kernels::check_divisor(op, b.contiguous());
}

void check_inplace_result(const char* op, const Tensor& x, const Tensor& other, DType result) {
  TANDEM_CHECK(broadcast_shapes(op, x.sizes(), other.sizes()) == x.sizes(), op, ": x is ", x.sizes(), " and the other ",
               other.sizes(), "; x cannot grow");
  TANDEM_CHECK(category(result) <= category(x.dtype()), op, ": the result is ", result, ", which x of ", x.dtype(),
               " cannot hold");
}
void check_number_held(const char* op, const Tensor& x, const Scalar& s) {
  const bool holds = x.is_floating_point() || (x.dtype() == kBool ? s.is_boolean() : !s.is_floating_point());
  TANDEM_CHECK(holds, op, ": x of ", x.dtype(), " cannot hold ", s);
}
DType result_type(const Tensor& x, const Tensor& a, const Tensor& b) {
  std::optional<DType> ranked, plain;
  for (const Tensor* t : {&x, &a, &b}) {
    std::optional<DType>& type = t->dim() ? ranked : plain;
    type = type ? promote_types(*type, t->dtype()) : t->dtype();
  }
  if (!ranked || !plain) return ranked.value_or(plain.value_or(x.dtype()));
  return category(*plain) > category(*ranked) ? promote_types(*ranked, *plain) : *ranked;
}

}  // namespace detail

void check_subtraction(const char* op, bool either_is_bool) {
  TANDEM_CHECK_AS(NotImplementedError, !either_is_bool, op,
                  ": bool tensors cannot be subtracted; use logical_xor or logical_not");
}
void check_alpha(const char* op, DType result, const Scalar& alpha) {
  TANDEM_CHECK(!alpha.is_boolean() || result == kBool, op, ": alpha is a bool and the result ", result,
               "; accepted: a number");
  TANDEM_CHECK(!alpha.is_floating_point() || is_floating_point(result), op, ": alpha is the floating-point number ",
               alpha, " and the result ", result, "; accepted: an integer");
  detail::check_holds(op, result, alpha);
}

}  // namespace tandem
