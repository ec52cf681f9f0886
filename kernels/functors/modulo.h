// The remainder of division, C's way. Of floats: in double, exactly, where the quotient is not huge.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

TANDEM_HD double fmod(double x, double y) { return ::fmod(x, y); }

/// A quotient of two floats, unless whole, is at least 2^-24 from the next integer: below 2^28 its rounding to double
/// does not reach that, and the integer times b has no more bits than a double.
TANDEM_HD bool is_easy_quotient(float a, float b) { return abs(a) <= abs(b) * 268435456.0f; }
/// Exact where the quotient is easy.
TANDEM_HD float easy_fmod(float a, float b) {
  const double quotient = __builtin_trunc(double(a) / double(b));
  const float rest = float(double(a) - quotient * double(b));
  return abs(a) < abs(b) ? a : copysign(rest, a);  // an infinite b leaves a
}
TANDEM_HD float fmod(float a, float b) { return is_easy_quotient(a, b) ? easy_fmod(a, b) : ::fmodf(a, b); }

}  // namespace tandem::math
