// Modified Bessel functions of the first kind, of orders 0 and 1. Computed in double; for float the double result is
// rounded.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

/// Returns I(a) e^-a sqrt(2 pi a) for a > 20, where I is the Bessel function of the given order. Uses the asymptotic
/// series (Abramowitz and Stegun 9.7.1), whose terms fall below 2^-60 for such a.
TANDEM_HD double large_bessel_i(int order, double a) {
  double term = 1, sum = 1;
  for (int k = 1; k < 64 && abs(term) > 1e-17; ++k) {
    term *= ((2 * k - 1) * (2 * k - 1) - 4 * order * order) / (8 * k * a);
    sum += term;
  }
  return sum;
}
/// Returns I(a) for 0 <= a <= 20, by the power series (Abramowitz and Stegun 9.6.10), in which all terms are positive.
TANDEM_HD double small_bessel_i(int order, double a) {
  const double q = 0.25 * a * a;
  double term = order == 0 ? 1 : 0.5 * a, sum = term;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= q / (double(k) * (k + order));
    sum += term;
  }
  return sum;
}
/// Returns e^-|x| I(x) for the Bessel function I of the given order.
TANDEM_HD double scaled_bessel_i(int order, double x) {
  const double a = abs(x);
  const double y =
      a > 20 ? large_bessel_i(order, a) * 0.39894228040143267794 / ::sqrt(a) : small_bessel_i(order, a) * ::exp(-a);
  return order == 1 && x < 0 ? -y : y;
}
TANDEM_HD double bessel_i(int order, double x) {
  const double a = abs(x);
  // e^(a / 2) is a factor of the product twice, so that the product overflows only if I(x) does.
  const double half = a > 20 ? ::exp(0.5 * a) : 1;
  const double y =
      a > 20 ? large_bessel_i(order, a) * 0.39894228040143267794 / ::sqrt(a) * half * half : small_bessel_i(order, a);
  return order == 1 && x < 0 ? -y : y;
}

TANDEM_HD double i0(double x) { return bessel_i(0, x); }  // returns NaN at infinity, as in PyTorch
TANDEM_HD double i1(double x) { return bessel_i(1, x); }
TANDEM_HD double i0e(double x) { return scaled_bessel_i(0, x); }
TANDEM_HD double i1e(double x) { return scaled_bessel_i(1, x); }
TANDEM_HD float i0(float x) { return float(i0(double(x))); }
TANDEM_HD float i1(float x) { return float(i1(double(x))); }
TANDEM_HD float i0e(float x) { return float(i0e(double(x))); }
TANDEM_HD float i1e(float x) { return float(i1e(double(x))); }

}  // namespace tandem::math
