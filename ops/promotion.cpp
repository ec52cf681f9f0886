// Type promotion: result_type, can_cast.
#include "tandem/ops/promotion.h"

#include "tandem/ops/promote_operands.h"

namespace tandem {
DType result_type(const Tensor& a, const Tensor& b) {
  if ((a.dim() == 0) == (b.dim() == 0)) return promote_types(a.dtype(), b.dtype());
  const Tensor& ranked = a.dim() ? a : b;  // the one with dimensions decides unless the other's kind is higher
  const Tensor& plain = a.dim() ? b : a;
  return detail::category(plain.dtype()) > detail::category(ranked.dtype())
             ? promote_types(ranked.dtype(), plain.dtype())
             : ranked.dtype();
}
DType result_type(const Tensor& a, const Scalar& b) {
  return detail::category(b.dtype()) > detail::category(a.dtype()) ? b.dtype() : a.dtype();
}

bool can_cast(DType from, DType to) {
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == kBool || to != kBool;
}

}  // namespace tandem
