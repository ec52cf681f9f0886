// fmod: the remainder of a division as in C. For floats it is computed in double, exactly, if the quotient is not too
// large.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

TANDEM_HD double fmod(double x, double y) { return ::fmod(x, y); }

/// Returns whether fast_fmod() is exact, which holds if |a / b| is at most 2^28. A quotient of two floats that is not
/// an integer is then at least 2^-24 away from the next integer, which is more than its rounding error in double. The
/// truncated quotient times b is exact in double.
TANDEM_HD bool is_fast_quotient(float a, float b) { return abs(a) <= abs(b) * 268435456.0f; }
/// Remainder of a / b, computed in double. Exact if is_fast_quotient(a, b).
TANDEM_HD float fast_fmod(float a, float b) {
  const double quotient = __builtin_trunc(double(a) / double(b));
  const float rest = float(double(a) - quotient * double(b));
  return abs(a) < abs(b) ? a : copysign(rest, a);  // if b is infinite, the remainder is a
}
TANDEM_HD float fmod(float a, float b) { return is_fast_quotient(a, b) ? fast_fmod(a, b) : ::fmodf(a, b); }

}  // namespace tandem::math
