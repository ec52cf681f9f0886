// Logarithms, and powers, which are computed from logarithms. The coefficients were fitted as in exp.h.
#pragma once
#include "tandem/kernels/functors/exp.h"

namespace tandem::math {

TANDEM_HD double log(double x) { return ::log(x); }
TANDEM_HD double log2(double x) { return ::log2(x); }
TANDEM_HD double log10(double x) { return ::log10(x); }
TANDEM_HD double log1p(double x) { return ::log1p(x); }
TANDEM_HD double pow(double x, double y) { return ::pow(x, y); }

/// Decomposition of x into 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for 0 < x < infinity.
struct LogParts {
  float n, f;
};
TANDEM_HD LogParts fast_log_parts(float x) {
  const uint32_t shifted = __builtin_bit_cast(uint32_t, x) - 0x3f3504f3u;
  const int32_t e = int32_t(shifted) >> 23;
  const float f = __builtin_bit_cast(float, (shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  return {float(e), f};
}
TANDEM_HD LogParts log_parts(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const auto [n, f] = fast_log_parts(tiny ? x * 8388608.0f : x);
  return {n - (tiny ? 23.0f : 0.0f), f};
}
/// Returns whether log, log2 and log10 equal fast_log, fast_log2 and fast_log10, which holds for 2^-126 <= x <
/// infinity.
TANDEM_HD bool has_fast_log(float x) { return __builtin_bit_cast(uint32_t, x) - 0x00800000u < 0x7f000000u; }
/// Returns the logarithm of x, including its limits: `finite` if x is positive and finite, infinity for infinity,
/// -infinity for 0, and NaN for negative numbers.
TANDEM_HD float handle_log_special_cases(float x, float finite) {
  const float limit = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  return x > 0.0f ? (x < __builtin_inff() ? finite : x) : limit;
}

/// Natural logarithm of 2^n (1 + f). Error within 0.9 ulp. log, log2 and log10 of 0 are -infinity, of negative numbers
/// NaN.
TANDEM_HD float log_from_parts(LogParts parts) {
  const auto [n, f] = parts;
  const float z = f * f;
  const float p = polynomial(f, 6.746642292e-2f, -1.167565212e-1f, 1.188816205e-1f, -1.240558848e-1f, 1.421955228e-1f,
                             -1.666799635e-1f, 2.000211924e-1f, -2.500000894e-1f, 3.333331347e-1f);
  const float y = multiply_add(n, -2.12194440e-4f, f * z * p) - 0.5f * z;
  return f + y + n * 0.693359375f;
}
TANDEM_HD float log(float x) { return handle_log_special_cases(x, log_from_parts(log_parts(x))); }
TANDEM_HD float fast_log(float x) { return log_from_parts(fast_log_parts(x)); }
/// Base-2 logarithm of 2^n (1 + f), where log2(1 + f) = f + f p(f). Error within 1.4 ulp.
TANDEM_HD float log2_from_parts(LogParts parts) {
  const auto [n, f] = parts;
  const float p = polynomial(f, -1.163941175e-1f, 1.868651509e-1f, -1.882544607e-1f, 2.041567862e-1f, -2.399521470e-1f,
                             2.886188030e-1f, -3.606825769e-1f, 4.808965027e-1f, -7.213475108e-1f, 4.426950514e-1f);
  return n + (f + f * p);
}
TANDEM_HD float log2(float x) { return handle_log_special_cases(x, log2_from_parts(log_parts(x))); }
TANDEM_HD float fast_log2(float x) { return log2_from_parts(fast_log_parts(x)); }
/// Base-10 logarithm of 2^n (1 + f), where log10(1 + f) = 7/16 f + f p(f). log10(2) is split into two parts, the first
/// of them with few bits. Error within 2 ulp.
TANDEM_HD float log10_from_parts(LogParts parts) {
  const auto [n, f] = parts;
  const float p = polynomial(f, -3.366225585e-2f, 5.648017675e-2f, -5.751060694e-2f, 6.152607128e-2f, -7.212500274e-2f,
                             8.687043190e-2f, -1.085808724e-1f, 1.447647512e-1f, -2.171471864e-1f, -3.205518005e-3f);
  return n * 0.3010253906f + (0.4375f * f + multiply_add(n, 4.60503898e-6f, f * p));
}
TANDEM_HD float log10(float x) { return handle_log_special_cases(x, log10_from_parts(log_parts(x))); }
TANDEM_HD float fast_log10(float x) { return log10_from_parts(fast_log_parts(x)); }

/// Returns ln(1 + x), computed as the logarithm of the rounded sum 1 + x, and scaled to correct for the rounding. Error
/// within 2.4 ulp.
TANDEM_HD float log1p(float x) {
  const float sum = 1.0f + x, added = sum - 1.0f;
  const float y = log(sum) * (x / added);
  return added == 0.0f || x == __builtin_inff() ? x : y;
}
/// Returns ln(1 + x) for x in [0, 1], by the series of 2 artanh(x / (2 + x)). Error within 2 ulp.
TANDEM_HD float log1p_of_fraction(float x) {
  const float s = x / (2.0f + x), w = s * s;
  const float p = polynomial(w, 1.400337666e-1f, 1.400151402e-1f, 2.001071870e-1f, 3.333320916e-1f);
  const float twice = s + s;
  return twice + twice * (w * p);
}
TANDEM_HD double log1p_of_fraction(double x) { return ::log1p(x); }

/// Returns x^y, computed as 2^(y log2 |x|), with the exponent in double: the relative error of the logarithm is below
/// 2^-37. Error within 0.6 ulp.
TANDEM_HD float pow(float x, float y) {
  const float a = abs(x);
  const auto [n, f] = log_parts(a);
  // Computes s = f / (2 + f) by one step of Newton's iteration, starting from a reciprocal in float.
  const double below = 2.0 + double(f), guess = double(1.0f / (2.0f + f));
  const double s = double(f) * (guess * (2.0 - below * guess)), w = s * s;
  const double p = polynomial(w, 3.40727911255107929e-1, 4.11672833145563355e-1, 5.77083583137930733e-1,
                              9.61796673351040465e-1, 2.88539008179007839);
  const double t = (double(n) + s * p) * double(y);
  const double exponent = t < -160.0 ? -160.0 : t > 140.0 ? 140.0 : t;
  const double shifted = exponent + 6755399441055744.0;  // adding 1.5 * 2^52 rounds to an integer
  const double r = exponent - (shifted - 6755399441055744.0);
  const double q = polynomial(r, 1.53533620179354562e-4, 1.33988744322664842e-3, 9.61843735665939698e-3,
                              5.55033247105990932e-2, 2.40226479136376125e-1, 6.93147202855120659e-1, 1.0);
  const uint64_t scale = (__builtin_bit_cast(uint64_t, shifted) << 52) + 0x3ff0000000000000u;
  float size = float(q * __builtin_bit_cast(double, scale));
  // Result for a = 0 and a = infinity, for which log_parts is not valid.
  const float zero_or_inf = (a == 0.0f) == (y < 0.0f) ? __builtin_inff() : 0.0f;
  size = a == 0.0f || a == __builtin_inff() ? zero_or_inf : size;
  size = abs(y) == __builtin_inff() ? (a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? __builtin_inff() : 0.0f) : size;
  const bool whole = rint(y) == y, odd = whole && rint(0.5f * y) != 0.5f * y;
  const float z = odd ? copysign(size, x) : !whole && x < 0.0f && a < __builtin_inff() ? __builtin_nanf("") : size;
  return y == 0.0f || x == 1.0f ? 1.0f : x != x || y != y ? x + y : z;
}

}  // namespace tandem::math
