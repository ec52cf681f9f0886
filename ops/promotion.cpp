// Type promotion: promote_types, result_type, can_cast.
#include "tandem/ops/promotion.h"

#include "tandem/ops/promote_operands.h"

namespace tandem {

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_floating_point(a) || is_floating_point(b)) {
    if (!is_floating_point(a)) return b;
    if (!is_floating_point(b)) return a;
    if (a == kFloat64 || b == kFloat64) return kFloat64;
    return kFloat32;  // a and b are two different dtypes out of float32, float16 and bfloat16
  }
  if (a == kBool) return b;
  if (b == kBool) return a;
  if (a == kUInt8 || b == kUInt8) {  // the result is the smallest integer type that holds the values of both
    const DType other = a == kUInt8 ? b : a;
    return other == kInt8 ? kInt16 : other;
  }
  return element_size(a) > element_size(b) ? a : b;
}

DType result_type(const Tensor& a, const Tensor& b) {
  if ((a.dim() == 0) == (b.dim() == 0)) return promote_types(a.dtype(), b.dtype());
  // tensor with dimensions; its dtype decides unless the 0-dim tensor's category is higher
  const Tensor& ranked = a.dim() ? a : b;
  const Tensor& plain = a.dim() ? b : a;
  return detail::dtype_category(plain.dtype()) > detail::dtype_category(ranked.dtype())
             ? promote_types(ranked.dtype(), plain.dtype())
             : ranked.dtype();
}
DType result_type(const Tensor& a, const Scalar& b) {
  return detail::dtype_category(b.dtype()) > detail::dtype_category(a.dtype()) ? b.dtype() : a.dtype();
}
DType result_type(const Scalar& a, const Tensor& b) { return result_type(b, a); }
DType result_type(const Scalar& a, const Scalar& b) { return promote_types(a.dtype(), b.dtype()); }

bool can_cast(DType from, DType to) {
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == kBool || to != kBool;
}

}  // namespace tandem
