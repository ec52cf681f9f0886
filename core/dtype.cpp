#include "tandem/core/dtype.h"

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

}  // namespace tandem
