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
  TANDEM_CHECK(broadcast_shapes(op, x.sizes(), other.sizes()) == x.sizes(), op, ": output with shape ", x.sizes(),
               " doesn't match the broadcast shape ", broadcast_shapes(op, x.sizes(), other.sizes()),
               "; the other operand is ", other.sizes());
  TANDEM_CHECK(dtype_category(result) <= dtype_category(x.dtype()), op, ": result type ", result,
               " can't be cast to the desired output type ", x.dtype());
}
void check_scalar_fits(const char* op, const Tensor& x, const Scalar& s) {
  const bool holds = x.is_floating_point() || (x.dtype() == kBool ? s.is_boolean() : !s.is_floating_point());
  TANDEM_CHECK(holds, op, ": result type ", result_type(x, s), " can't be cast to the desired output type ", x.dtype(),
               "; the number is ", s);
}
DType result_type(const Tensor& x, const Tensor& a, const Tensor& b) {
  std::optional<DType> ranked, plain;
  for (const Tensor* t : {&x, &a, &b}) {
    std::optional<DType>& type = t->dim() ? ranked : plain;
    type = type ? promote_types(*type, t->dtype()) : t->dtype();
  }
  if (!ranked || !plain) return ranked.value_or(plain.value_or(x.dtype()));
  return dtype_category(*plain) > dtype_category(*ranked) ? promote_types(*ranked, *plain) : *ranked;
}

}  // namespace detail

void check_subtraction(const char* op, bool either_is_bool, bool both_are_bool) {
  TANDEM_CHECK_AS(NotImplementedError, !both_are_bool, op,
                  ": Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                  "`logical_xor()` operator instead");
  TANDEM_CHECK_AS(NotImplementedError, !either_is_bool, op,
                  ": Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                  "mask, use the `~` or `logical_not()` operator instead");
}
void check_alpha(const char* op, DType result, const Scalar& alpha) {
  TANDEM_CHECK(!alpha.is_boolean() || result == kBool, op,
               ": Boolean alpha only supported for Boolean results, got a result of ", result);
  TANDEM_CHECK(!alpha.is_floating_point() || is_floating_point(result), op,
               ": For integral input tensors, argument alpha must not be a floating point number, got ", alpha,
               " for a result of ", result);
  detail::check_representable(op, result, alpha);
}

}  // namespace tandem
