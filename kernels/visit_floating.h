// Maps a floating dtype to the C++ type T that a kernel loads and stores. The kernel computes in OpMath<T>.
#pragma once
#include "tandem/core/dtype.h"
#include "tandem/core/internal.h"

namespace tandem::kernels {

/// Calls visitor.template operator()<T>() with float, double, Half or BFloat16.
/// @throws NotImplementedError for any other dtype
template <class Visitor> void visit_floating(const char* op, DType dtype, Visitor&& visitor) {
  if (dtype == kFloat32) return visitor.template operator()<float>();
  if (dtype == kFloat64) return visitor.template operator()<double>();
  if (dtype == kFloat16) return visitor.template operator()<Half>();
  TANDEM_CHECK_AS(NotImplementedError, dtype == kBFloat16, op, ": not implemented for '", dtype,
                  "'; accepted: floating point");
  visitor.template operator()<BFloat16>();
}

}  // namespace tandem::kernels
