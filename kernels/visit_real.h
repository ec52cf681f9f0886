// From a dtype to the C++ types of kernels that exist for float32 and float64 alone.
#pragma once
#include "tandem/core/dtype.h"

namespace tandem::kernels {

/// Calls visitor.template operator()<T>() with float or double.
/// @throws NotImplementedError for any other dtype
template <class Visitor> void visit_real(const char* op, DType dtype, Visitor&& visitor) {
  if (dtype == kFloat32) return visitor.template operator()<float>();
  TANDEM_CHECK_AS(NotImplementedError, dtype == kFloat64, op, ": does not exist for ", dtype,
                  "; accepted: float32, float64");
  visitor.template operator()<double>();
}

}  // namespace tandem::kernels
