// Inverses of the error function and of the normal distribution, and the scaled complementary error function. For
// float, ndtri and erfcx round the double result. The coefficients of erfinv were fitted as in exp.h, and rounded to
// float at the end.
#pragma once
#include "tandem/kernels/functors/erf.h"
#include "tandem/kernels/functors/log.h"

namespace tandem::math {

/// Returns e^(-c a^2) for a power of two c. The square is computed in two parts, the first of them exact.
TANDEM_HD double exp_of_square(double a, double c) {
  const double high = __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, a) & 0xfffffffff8000000u);
  return ::exp(-c * (high * high)) * ::exp(-c * ((a - high) * (a + high)));
}
/// Returns e^(x^2) erfc(x), the scaled complementary error function. For x >= 6.5 uses the asymptotic series
/// (Abramowitz and Stegun 7.1.23), whose smallest term is below 2^-60 for such x.
TANDEM_HD double erfcx(double x) {
  if (x >= 6.5) {
    const double step = -0.5 / (x * x);
    double term = 1, sum = 1;
    for (int k = 1; k < 64 && abs(term) > 1e-17; ++k) {
      term *= step * (2 * k - 1);
      sum += term;
    }
    return sum * 0.56418958354775628695 / x;
  }
  if (x < -27) return __builtin_inf();
  return exp_of_square(abs(x), -1.0) * ::erfc(x);
}

/// Returns y >= 0 with erf(y) = x, for 0 <= x < 1 and q = 1 - x; x and q are exact. Starts from a rational
/// approximation (in the tail, of sqrt(-ln(q / 2))) and refines it by Halley's iteration, each step of which triples
/// the number of correct digits.
TANDEM_HD double inverse_of_erf(double x, double q) {
  const bool tail = x > 0.7;
  const double log_q = ::log(q), z = tail ? ::sqrt(0.69314718055994530942 - log_q) : x * x;
  double y = 0;
  if (tail)
    y = (((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
        ((1.637067800 * z + 3.543889200) * z + 1);
  else
    y = x * (((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
        ((((0.012229801 * z - 0.329097515) * z + 1.442710462) * z - 2.118377725) * z + 1);
  for (int step = 0; step < (q < 1e-18 ? 5 : 2); ++step) {
    // The step of Newton's method, (erf(y) - x) / erf'(y). In the tail it is computed from 1 - erf(y) and q, scaled
    // against underflow.
    const double error = tail ? 0.88622692545275801365 * (::exp(y * y + log_q) - erfcx(y))
                              : 0.88622692545275801365 * (::erf(y) - x) * ::exp(y * y);
    y -= error / (1 + y * error);
  }
  return y;
}
TANDEM_HD double erfinv(double x) {
  const double a = abs(x);
  if (!(a < 1)) return a == 1 ? copysign(__builtin_inf(), x) : __builtin_nan("");
  return copysign(inverse_of_erf(a, 1 - a), x);
}
/// Returns the x at which the normal distribution function equals p.
TANDEM_HD double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -__builtin_inf() : p == 1 ? __builtin_inf() : __builtin_nan("");
  const double q = 2 * (p < 0.5 ? p : 1 - p), y = 1.41421356237309504880 * inverse_of_erf(1 - q, q);
  return p < 0.5 ? -y : y;
}

TANDEM_HD float erfcx(float x) { return float(erfcx(double(x))); }
/// Inverse of the error function: x times a polynomial of w = -ln(1 - x^2) or, in the tails, of sqrt(w). Error within
/// 2.1 ulp.
TANDEM_HD float erfinv(float x) {
  const float a = abs(x), w = -fast_log((1.0f - x) * (1.0f + x)), root = sqrt(w) - 3.125f;
  const float center =
      polynomial(w, -8.790954631e-09f, 2.210290972e-07f, -1.976447948e-06f, 3.983170245e-06f, 4.456541865e-05f,
                 -1.274819952e-04f, -2.334295772e-03f, 1.154865418e-02f, 2.320138216e-01f, -1.137730777e-01f);
  const float tail =
      polynomial(root, 1.151753313e-04f, -1.795429998e-04f, -3.003314487e-04f, 1.319189323e-03f, -2.533054678e-03f,
                 3.777817823e-03f, -5.298751406e-03f, 7.049585227e-03f, 1.003718615e+00f, 2.958320141e+00f);
  const float y = w < 5.0f ? x + x * center : x * tail;
  // the sum of -0 and +0 in y is +0
  return a < 1.0f ? copysign(y, x) : a == 1.0f ? copysign(__builtin_inff(), x) : __builtin_nanf("");
}
TANDEM_HD float ndtri(float x) { return float(ndtri(double(x))); }

}  // namespace tandem::math
