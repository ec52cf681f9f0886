// Powers of two, hyperbolic sine and cosine, and inverses of trigonometric and hyperbolic functions.
#pragma once
#include "tandem/kernels/functors/log.h"
#include "tandem/kernels/functors/trig.h"

namespace tandem::math {

#define TANDEM_DOUBLE_MATH(name) \
  TANDEM_HD double name(double x) { return ::name(x); }
TANDEM_DOUBLE_MATH(exp2)
TANDEM_DOUBLE_MATH(asin)
TANDEM_DOUBLE_MATH(acos)
TANDEM_DOUBLE_MATH(atan)
TANDEM_DOUBLE_MATH(sinh)
TANDEM_DOUBLE_MATH(cosh)
TANDEM_DOUBLE_MATH(asinh)
TANDEM_DOUBLE_MATH(acosh)
TANDEM_DOUBLE_MATH(atanh)
#undef TANDEM_DOUBLE_MATH

/// Power of two. Error within 1.2 ulp, also for results below 2^-126; exact for integers.
TANDEM_HD float exp2(float x) {
  const float clamped = x < -151.0f ? -151.0f : x > 129.0f ? 129.0f : x;
  const float shifted = clamped + 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer
  const float r = (clamped - (shifted - 12582912.0f)) * 0.693147181f;
  return ldexp(exp_fraction(r) + 1.0f, __builtin_bit_cast(int32_t, shifted) - 0x4b400000);
}
/// Returns e^a / 2 for a >= 0; overflows only if cosh(a) does.
TANDEM_HD float half_exp(float a) {
  const ExpArgument e = exp_argument(a > 90.0f ? 90.0f : a);
  return ldexp(exp_fraction(e.r) + 1.0f, e.k - 1);
}
/// Hyperbolic cosine. Error within 2 ulp.
TANDEM_HD float cosh(float x) {
  const float e = half_exp(abs(x));
  return e + 0.25f / e;
}
/// Hyperbolic sine. Uses the first terms of the Taylor series if |x| < 1. Error within 2.5 ulp.
TANDEM_HD float sinh(float x) {
  const float z = x * x, e = half_exp(abs(x));
  const float p = polynomial(z, 2.50521084e-8f, 2.75573192e-6f, 1.98412698e-4f, 8.33333333e-3f, 1.66666667e-1f);
  return abs(x) < 1.0f ? x + x * (z * p) : copysign(e - 0.25f / e, x);
}

// Computed by atan2. (1 - x) (1 + x) is accurate near |x| = 1, and negative if |x| > 1, so that asin and acos return
// NaN. Error within 4 ulp.
TANDEM_HD float atan(float x) { return atan2(x, 1.0f); }
TANDEM_HD float asin(float x) { return atan2(x, sqrt((1.0f - x) * (1.0f + x))); }
TANDEM_HD float acos(float x) { return atan2(sqrt((1.0f - x) * (1.0f + x)), x); }

/// Returns ln(2 x) for large x. The error is within 4 ulp here, and in asinh, acosh and atanh.
TANDEM_HD float log_of_twice(float x) { return log(x) + 0.693147181f; }
TANDEM_HD float asinh(float x) {
  const float a = abs(x), root = sqrt(1.0f + a * a), y = log1p(a + a * (a / (1.0f + root)));
  return copysign(a > 10000.0f ? log_of_twice(a) : y, x);
}
TANDEM_HD float acosh(float x) {
  const float t = x - 1.0f, y = log1p(t + sqrt(t * (2.0f + t)));
  return x < 1.0f ? __builtin_nanf("") : x > 10000.0f ? log_of_twice(x) : y;
}
TANDEM_HD float atanh(float x) {
  const float a = abs(x), y = 0.5f * log1p(2.0f * a / (1.0f - a));
  return a > 1.0f ? __builtin_nanf("") : copysign(y, x);
}

}  // namespace tandem::math
