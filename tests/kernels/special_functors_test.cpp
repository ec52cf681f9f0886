// Tests the special functions in double against closed forms, sums and integrals.
#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/kernels/functors.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
double relative(double got, long double want) {
  return static_cast<double>(std::fabs((static_cast<long double>(got) - want) / want));
}

}  // namespace

TEST_CASE("digamma has its values at whole numbers and halves, its root and its reflection", "[functors][one_thread]") {
  const long double gamma = 0.57721566490153286060651209008240243L;
  long double harmonic = 0, odd = 0;
  for (int n = 1; n < 60; ++n) {
    const auto half = static_cast<double>(2 * odd - gamma - 2 * std::numbers::ln2_v<long double>);
    CHECK(std::fabs(math::digamma(double(n)) - static_cast<double>(harmonic - gamma)) < 2e-15);
    CHECK(std::fabs(math::digamma(n - 0.5) - half) < 2e-15);
    harmonic += 1.0L / n, odd += 1.0L / (2 * n - 1);
  }
  CHECK(std::fabs(math::digamma(1.4616321449683623413)) < 2e-15);
  for (const double x : {-0.3, -1.7, -20.25})  // psi(x) = psi(1 - x) - pi cot(pi x)
    CHECK(relative(math::digamma(x), math::digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * x)) < 1e-13);
  CHECK(math::digamma(0.0) == -kInfinity);
  CHECK(math::digamma(-0.0) == kInfinity);
  CHECK((std::isnan(math::digamma(-3.0)) && std::isnan(math::digamma(-kInfinity))));
  CHECK(math::digamma(kInfinity) == kInfinity);
}

TEST_CASE("zeta gives Riemann's values, and the sums of its terms", "[functors][one_thread]") {
  const long double pi = std::numbers::pi_v<long double>, two = pi * pi / 6, four = pi * pi * pi * pi / 90;
  CHECK(relative(math::zeta(2.0, 1.0), two) < 1e-15);
  CHECK(relative(math::zeta(4.0, 1.0), four) < 1e-15);
  CHECK(relative(math::zeta(2.0, 0.5), 3 * two) < 1e-15);
  for (const double x : {1.25, 3.5, 9.0})
    for (const double q : {0.25, 1.75, 40.0}) {
      // Terms from k = 5001 on are replaced by their integral (midpoint rule) with the first Euler-Maclaurin
      // correction.
      const long double s = x, at = 5000.5L + q;
      long double sum = std::pow(at, 1 - s) / (s - 1) - s * std::pow(at, -s - 1) / 24;
      for (int k = 5000; k >= 0; --k) sum += std::pow(k + static_cast<long double>(q), -s);
      CHECK(relative(math::zeta(x, q), sum) < 4e-15);
    }
  CHECK(relative(math::zeta(3.0, -0.25), math::zeta(3.0, 0.75) - 64) < 1e-14);
  CHECK(math::zeta(1.0, 3.0) == kInfinity);
  CHECK((std::isnan(math::zeta(0.5, 3.0)) && std::isnan(math::zeta(2.5, -0.5))));
}

TEST_CASE("modified Bessel functions are their integrals", "[functors][one_thread]") {
  // Expected: (1 / pi) * integral over [0, pi] of e^(x cos t) cos(n t). The trapezoidal rule converges faster than any
  // power
  // for periodic functions.
  for (const double x : {1e-3, 0.5, 1.0, 7.0, 19.9, 20.1, 60.0, 650.0}) {
    const int points = 2000;
    long double sums[2] = {0, 0};
    for (int k = 0; k < points; ++k) {
      const long double t = std::numbers::pi_v<long double> * (k + 0.5L) / points;
      for (const int n : {0, 1}) sums[n] += std::exp(x * (std::cos(t) - 1)) * std::cos(n * t) / points;
    }
    CAPTURE(x);
    CHECK(relative(math::i0e(x), sums[0]) < 3e-15);
    CHECK(relative(math::i1e(x), sums[1]) < 1e-14);  // the integral loses digits if x is small
    CHECK(relative(math::i0(x), sums[0] * std::exp(static_cast<long double>(x))) < 5e-15);
    CHECK(math::i1(-x) == -math::i1(x));
    CHECK(math::i0(-x) == math::i0(x));
  }
  CHECK((math::i0(0.0) == 1 && math::i1(0.0) == 0 && math::i0e(kInfinity) == 0));
  CHECK((std::isnan(math::i0(kInfinity)) && std::isnan(math::i1(-kInfinity))));  // as in PyTorch
  CHECK((math::i0(712.0) < kInfinity && math::i0(720.0) == kInfinity));
  CHECK((std::isnan(math::i0(std::nan(""))) && std::isnan(math::i1e(std::nan("")))));
}

TEST_CASE("erfcx, erfinv and ndtri agree with erfc and undo it", "[functors][one_thread]") {
  for (double x = -5; x < 10; x += 0.093) {
    const long double wide = x;
    CHECK(relative(math::erfcx(x), std::exp(wide * wide) * std::erfc(wide)) < 4e-15);
  }
  CHECK(relative(math::erfcx(1e8), 1 / (1e8L * std::sqrt(std::numbers::pi_v<long double>))) < 1e-15);
  CHECK((math::erfcx(-30.0) == kInfinity && math::erfcx(kInfinity) == 0 && std::isnan(math::erfcx(std::nan("")))));
  for (double y = 0.01; y < 26; y *= 1.37) {
    const double x = std::erf(y), q = std::erfc(y);
    if (x < 0.99) CHECK(relative(math::erfinv(-x), -y) < 1e-14);  // close to 1, x does not determine y accurately
    // A relative error of q changes y by 1 / (2 y^2) of that relative error.
    CHECK(relative(math::ndtri(0.5 * q), -y * std::sqrt(2.0L)) < (y < 0.1 ? 3e-15 : 1e-15) * (1 + 1 / y));
  }
  CHECK(math::ndtri(5e-324) < -38);
  CHECK((math::erfinv(1.0) == kInfinity && math::erfinv(-1.0) == -kInfinity && std::isnan(math::erfinv(1.5))));
  CHECK((math::ndtri(0.0) == -kInfinity && math::ndtri(1.0) == kInfinity && math::ndtri(0.5) == 0));
}

TEST_CASE("incomplete gamma functions are the error function and Poisson's sums", "[functors][one_thread]") {
  for (double x = 0.01; x < 30; x *= 1.5) {
    CHECK(relative(math::igamma(0.5, x), std::erf(std::sqrt(static_cast<long double>(x)))) < 1e-14);
    CHECK(relative(math::igammac(0.5, x), std::erfc(std::sqrt(static_cast<long double>(x)))) < 1e-13);
    CHECK(relative(math::igammac(1.0, x), std::exp(-static_cast<long double>(x))) < 1e-13);
  }
  // Q(n, x) = e^-x * sum of x^k / k! over k < n. For n = 200000 the implementation uses the uniform expansion.
  for (const int n : {5, 60, 1000, 200000})
    for (const double ratio : {0.7, 0.99, 0.999, 1.0, 1.002, 1.02}) {
      const long double x = static_cast<double>(n) * ratio;
      long double sum = 0;
      for (int k = n - 1; k >= 0; --k) {
        const long double term = std::exp(k * std::log(x) - x - std::lgamma(k + 1.0L));
        sum += term;
        if (term < sum * 1e-22L && k < x) break;
      }
      CAPTURE(n, ratio);
      const auto upper = static_cast<double>(sum);
      const double bound = 3e-13 + 1e-17 * n;  // the error of k ln(x) in long double grows with n
      CHECK(std::fabs(math::igammac(double(n), double(x)) - upper) < bound * upper + 1e-300);
      CHECK(std::fabs(math::igamma(double(n), double(x)) + upper - 1) < bound);
    }
  CHECK(std::fabs(math::igamma(1e12, 1e12) - 0.5) < 1e-6);  // P(a, a) = 1/2 + 1 / (3 sqrt(2 pi a)) + ...
}

TEST_CASE("divisors, multiples and shifts of the ends of their range", "[functors][one_thread]") {
  const int64_t least = std::numeric_limits<int64_t>::min();
  CHECK((math::gcd(0, 0) == 0 && math::gcd(-12, 18) == 6 && math::gcd(least, 0) == least && math::gcd(least, 6) == 2));
  CHECK((math::lcm(0, 5) == 0 && math::lcm(-4, 6) == 12 && math::lcm(21, 6) == 42));
  // lcm overflows: the product is taken modulo 2^64, without its sign
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(math::lcm(most - 1, most) == most - 1);
  CHECK((math::left_shift(1, 63) == least && math::left_shift(1, 64) == 0 && math::left_shift(1, -1) == 0));
  CHECK((math::right_shift(-5, 1) == -3 && math::right_shift(-5, 70) == -1 && math::right_shift(5, -1) == 0));
}
