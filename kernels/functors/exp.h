// Exponentials and functions computed from them. The polynomial coefficients were fitted for these files by weighted
// minimax (Lawson's iteration on Chebyshev nodes; each coefficient was rounded to float before the next ones were
// fitted). tests/kernels/functors_test.cpp measures and checks the error bounds given here.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

TANDEM_HD double exp(double x) { return ::exp(x); }
TANDEM_HD double expm1(double x) { return ::expm1(x); }
TANDEM_HD double tanh(double x) { return ::tanh(x); }

/// Decomposition of x into k ln 2 + r with |r| <= ln(2) / 2, for x in [-104, 89].
struct ExpArgument {
  float r;
  int32_t k;
};
TANDEM_HD ExpArgument exp_argument(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer
  const float n = shifted - 12582912.0f;
  // ln 2 is split into two parts; the first has so few bits that its product with n is exact
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  return {r, __builtin_bit_cast(int32_t, shifted) - 0x4b400000};
}
/// Returns e^r - 1 for |r| <= 0.4.
TANDEM_HD float exp_fraction(float r) {
  const float p = polynomial(r, 1.388248987e-3f, 8.366691880e-3f, 4.166720435e-2f, 1.666654199e-1f, 0.5f);
  return p * (r * r) + r;
}
TANDEM_HD float power_of_two(int32_t k) { return __builtin_bit_cast(float, uint32_t(k + 127) << 23); }
/// Returns p 2^k, computed with two powers of two, so that results below 2^-126 and above 2^127 are correct.
TANDEM_HD float ldexp(float p, int32_t k) {
  const int32_t half = k >> 1;
  return p * power_of_two(half) * power_of_two(k - half);
}

/// Exponential function. Error within 1.1 ulp, also for results below 2^-126.
TANDEM_HD float exp(float x) {
  const float clamped = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;  // keeps NaN
  const ExpArgument a = exp_argument(clamped);
  return ldexp(exp_fraction(a.r) + 1.0f, a.k);
}

/// Returns whether exp(x) and fast_exp(x) are equal bit for bit, which holds if 2^k and the result are normal floats.
TANDEM_HD bool has_fast_exp(float x) { return abs(x) <= 87.0f; }
TANDEM_HD float fast_exp(float x) {
  const ExpArgument a = exp_argument(x);
  return (exp_fraction(a.r) + 1.0f) * power_of_two(a.k);
}

TANDEM_HD double exp_of_negative(double x) { return ::exp(x); }
/// Returns 2^k p for -150 <= k <= 60, where `shifted` is 1.5 * 2^23 + 64 + k. The intermediate 2^(k + 64) p is far from
/// overflow and underflow, so only the product with 2^-64 rounds, if the result is below 2^-126.
TANDEM_HD float scale_below_one(float p, float shifted) {
  const uint32_t large = __builtin_bit_cast(uint32_t, p) + (__builtin_bit_cast(uint32_t, shifted) << 23);
  return __builtin_bit_cast(float, large) * 0x1p-64f;
}
/// Returns the same bits as exp(x) for x <= 0 or NaN, with two thirds of the work.
TANDEM_HD float exp_of_negative(float x) {
  const float clamped = x < -104.0f ? -104.0f : x;
  const float shifted = clamped * 1.44269504f + 12582976.0f;  // as in exp_argument
  const float n = shifted - 12582976.0f;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  // the last term adds 0, or NaN if x is NaN
  return scale_below_one(exp_fraction(r) + 1.0f, shifted) + (clamped - clamped);
}

/// Returns e^x - 1, computed as 2^k q + (2^k - 1) with q = e^r - 1. This is accurate near zero, where k = 0. Error
/// within 1.6 ulp.
TANDEM_HD float expm1(float x) {
  const float clamped = x < -20.0f ? -20.0f : x > 89.0f ? 89.0f : x;
  const ExpArgument a = exp_argument(clamped);
  const int32_t half = a.k >> 1, rest = a.k - half;
  const float scale = power_of_two(half);
  const float y = (exp_fraction(a.r) * scale + (scale - power_of_two(-rest))) * power_of_two(rest);
  return x != x || x == 0.0f ? x : y;
}

/// Hyperbolic tangent, computed as m / (m + 2) with m = e^(2|x|) - 1. Error within 2.5 ulp.
TANDEM_HD float tanh(float x) {
  const float a = abs(x), clamped = a > 9.5f ? 9.5f : a;
  const ExpArgument e = exp_argument(2.0f * clamped);
  const float scale = power_of_two(e.k), m = exp_fraction(e.r) * scale + (scale - 1.0f);
  return copysign(m / (m + 2.0f), x);
}

/// Logistic function. For float the error is within 2.5 ulp if e^-x is finite; otherwise the result is 0.
template <class T> TANDEM_HD T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
/// Derivative of x sigmoid(x).
template <class T> TANDEM_HD T silu_derivative(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}

}  // namespace tandem::math
