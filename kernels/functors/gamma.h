// Logarithm of the gamma function, its derivative (digamma), Hurwitz zeta function, and incomplete gamma functions.
// Computed in double; for float the double result is rounded.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

TANDEM_HD double lgamma(double x) {
#if defined(__CUDA_ARCH__)
  return ::lgamma(x);
#else
  int sign;  // receives the sign, which ::lgamma would write to a global variable
  return ::lgamma_r(x, &sign);
#endif
}

/// Digamma function. For x >= 10 it is computed by the asymptotic series (Abramowitz and Stegun 6.3.18). Smaller x are
/// first increased by the recurrence (6.3.5), and negative x reflected (6.3.7).
TANDEM_HD double digamma(double x) {
  if (x == 0) return copysign(__builtin_inf(), -x);
  double y = 0;
  if (x < 0) {
    const double rest = x - ::trunc(x);
    if (rest == 0 || x != x) return __builtin_nan("");
    y = -3.14159265358979323846 / ::tan(3.14159265358979323846 * rest);
    x = 1 - x;
  }
  for (; x < 10; x += 1) y -= 1 / x;
  const double z = 1 / (x * x);
  double p = 1.0 / 12;
  p = p * z - 691.0 / 32760;
  p = p * z + 1.0 / 132;
  p = p * z - 1.0 / 240;
  p = p * z + 1.0 / 252;
  p = p * z - 1.0 / 120;
  p = p * z + 1.0 / 12;
  return y + (::log(x) - 0.5 / x - z * p);
}

/// Hurwitz zeta function, the sum over k >= 0 of (k + q)^-x. Adds at least ten terms, and then uses the Euler-Maclaurin
/// formula (DLMF 25.11.5), whose terms have the factors B_2k / (2k)!. If q is negative, x must be an integer, and the
/// terms with negative k + q are summed too.
TANDEM_HD double zeta(double x, double q) {
  if (x == 1) return __builtin_inf();
  if (!(x > 1) || q != q) return __builtin_nan("");
  if (q == __builtin_inf()) return 0;
  if (q <= 0) {
    if (q == ::floor(q)) return __builtin_inf();
    if (x != ::floor(x)) return __builtin_nan("");
  }
  const double kLeast = 1e-17;
  double sum = ::pow(q, -x), at = q, term = 0;
  for (int k = 0; k < 9 || at <= 9; ++k) {
    at += 1;
    term = ::pow(at, -x);
    sum += term;
    if (abs(term) < kLeast * abs(sum)) return sum;
  }
  sum += term * at / (x - 1) - 0.5 * term;
  const double factors[] = {8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,
                            -8.2671957671957672e-7,  2.0876756987868099e-8,   -5.2841901386874932e-10,
                            1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15,
                            -2.1748686985580619e-16, 5.5090028283602295e-18,  -1.3954464685812523e-19};
  // Correction k of the Euler-Maclaurin formula is product * term * factors[k], where product = x (x + 1) ... (x + 2k)
  // and term = at^(-x - 2k - 1).
  double product = x;
  term /= at;
  for (int k = 0; k < 12; ++k) {
    const double added = product * term * factors[k];
    sum += added;
    if (abs(added) < kLeast * abs(sum)) break;
    product *= (x + (2 * k + 1)) * (x + (2 * k + 2));
    term /= at * at;
  }
  return sum;
}

/// The regularised incomplete gamma functions P(a, x) = lower and Q(a, x) = upper; P + Q = 1.
struct IncompleteGamma {
  double lower, upper;
};
/// Incomplete gamma functions for large a near x, by Temme's uniform expansion (DLMF 8.12.3 and 8.12.7), where eta^2 /
/// 2 = x/a - 1 - ln(x/a).
TANDEM_HD IncompleteGamma uniform_gamma(double a, double eta) {
  const double c0 = ((((((3.9192631785224378e-5 * eta - 1.7875514403292181e-4) * eta + 3.527336860670194e-4) * eta +
                        1.1574074074074074e-3) *
                           eta -
                       1.4814814814814815e-2) *
                          eta +
                      8.3333333333333333e-2) *
                         eta -
                     3.3333333333333333e-1);
  const double c1 = (((2.0576131687242798e-4 * eta - 9.9022633744855967e-4) * eta + 2.6455026455026455e-3) * eta -
                     3.4722222222222222e-3) *
                        eta -
                    1.8518518518518519e-3;
  const double c2 = 4.1335978835978836e-3 - 2.6813271604938272e-3 * eta;
  const double rest = ::exp(-0.5 * a * eta * eta) * (c0 + (c1 + c2 / a) / a) / ::sqrt(6.28318530717958647693 * a);
  const double t = eta * ::sqrt(0.5 * a);
  return {0.5 * ::erfc(-t) - rest, 0.5 * ::erfc(t) + rest};
}
/// Incomplete gamma functions for 0 < a, x < infinity: by the series (DLMF 8.7.1) if x is less than a + 1, otherwise by
/// the continued fraction (8.9.2).
TANDEM_HD IncompleteGamma incomplete_gamma(double a, double x) {
  const double m = (x - a) / a, phi = m - ::log1p(m);  // x/a - 1 - ln(x/a)
  if (a > 1e5 && abs(m) < 0.1) return uniform_gamma(a, copysign(::sqrt(2 * (phi > 0 ? phi : 0)), m));
  // scale is x^a e^-x / Gamma(a + 1), computed by Stirling's series for large a.
  const double r = 1 / (a * a), stirling = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r / 1680))) / a;
  const double scale = a > 20 ? ::exp(-a * phi - stirling) / ::sqrt(6.28318530717958647693 * a)
                              : ::exp(a * ::log(x) - x - lgamma(a + 1));
  if (x < a + 1) {
    double term = 1, sum = 1;
    for (double n = a + 1; term > 1e-17 * sum; n += 1) {
      term *= x / n;
      sum += term;
    }
    return {scale * sum, 1 - scale * sum};
  }
  // Evaluates the continued fraction by Lentz's method, as modified by Thompson and Barnett.
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 20000; ++i) {
    const double factor = -i * (i - a);
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    h *= c * d;
    if (abs(c * d - 1) < 1e-16) break;
  }
  return {1 - scale * a * h, scale * a * h};
}
TANDEM_HD IncompleteGamma incomplete_gamma_limits(double a, double x) {
  const double nan = __builtin_nan(""), inf = __builtin_inf();
  if (a < 0 || x < 0 || (a == 0 && !(x > 0)) || (a == inf && x == inf)) return {nan, nan};
  if (a == 0) return {1, 0};
  if (x == 0 || a == inf) return {0, 1};  // this limit holds even if the other argument is NaN, as in PyTorch
  if (x == inf) return {1, 0};
  return a == a && x == x ? incomplete_gamma(a, x) : IncompleteGamma{nan, nan};
}
TANDEM_HD double igamma(double a, double x) { return incomplete_gamma_limits(a, x).lower; }
TANDEM_HD double igammac(double a, double x) { return incomplete_gamma_limits(a, x).upper; }

TANDEM_HD float lgamma(float x) { return float(lgamma(double(x))); }
TANDEM_HD float digamma(float x) { return float(digamma(double(x))); }
TANDEM_HD float zeta(float x, float q) { return float(zeta(double(x), double(q))); }
TANDEM_HD float igamma(float a, float x) { return float(igamma(double(a), double(x))); }
TANDEM_HD float igammac(float a, float x) { return float(igammac(double(a), double(x))); }

}  // namespace tandem::math
