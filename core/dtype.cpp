// Element types: the dtype that two promote to, the default dtype, and numbers as kernels read them.
#include "tandem/core/dtype.h"

#include "tandem/core/loop/loop.h"
#include "tandem/core/rank_context.h"
#include "tandem/core/scalar.h"

namespace tandem {

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_floating_point(a) || is_floating_point(b)) {
    if (!is_floating_point(a)) return b;
    if (!is_floating_point(b)) return a;
    if (a == kFloat64 || b == kFloat64) return kFloat64;
    return kFloat32;  // two different ones of float32, float16, bfloat16
  }
  if (a == kBool) return b;
  if (b == kBool) return a;
  if (a == kUInt8 || b == kUInt8) {  // the smallest type that holds both
    const DType other = a == kUInt8 ? b : a;
    return other == kInt8 ? kInt16 : other;
  }
  return element_size(a) > element_size(b) ? a : b;
}

LoopScalar Scalar::loop_scalar(DType dtype) const {
  LoopScalar s;
  if (tandem::is_floating_point(dtype))
    s.real = to_double();
  else
    s.integer = visit_dtype(dtype, [&]<class T>() { return static_cast<int64_t>(to<T>()); });
  return s;
}
void Scalar::refuse(DType dtype) const { TANDEM_FAIL("the number ", *this, " does not fit ", dtype); }

DType get_default_dtype() { return RankContext::current().default_dtype; }
void set_default_dtype(DType dtype) {
  TANDEM_CHECK(is_floating_point(dtype), "set_default_dtype: got ", dtype, "; accepted: a floating-point dtype");
  RankContext::current().default_dtype = dtype;
}

}  // namespace tandem
