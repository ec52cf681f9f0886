// Greatest common divisors, least common multiples and shifts of integers; the next float in a direction.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

/// Returns |x| as an unsigned number, because |x| of the lowest integer does not fit into int64. A gcd that does not
/// fit into int64 wraps.
TANDEM_HD uint64_t unsigned_abs(int64_t x) { return x < 0 ? -uint64_t(x) : uint64_t(x); }
TANDEM_HD uint64_t gcd_unsigned(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
TANDEM_HD int64_t gcd(int64_t a, int64_t b) { return int64_t(gcd_unsigned(unsigned_abs(a), unsigned_abs(b))); }
/// Least common multiple. A result that does not fit into int64 wraps, and the sign of the wrapped result is dropped,
/// as in PyTorch.
TANDEM_HD int64_t lcm(int64_t a, int64_t b) {
  const uint64_t divisor = gcd_unsigned(unsigned_abs(a), unsigned_abs(b));
  return divisor == 0 ? 0 : int64_t(unsigned_abs(int64_t(unsigned_abs(a) / divisor * unsigned_abs(b))));
}
/// Shifts are computed in 64 bits for all integer types. The conversion to a narrower type, when the result is stored,
/// drops the upper bits.
TANDEM_HD int64_t left_shift(int64_t x, int64_t n) { return n < 0 || n > 63 ? 0 : int64_t(uint64_t(x) << n); }
TANDEM_HD int64_t right_shift(int64_t x, int64_t n) { return x >> (n < 0 || n > 63 ? 63 : n); }

TANDEM_HD float nextafter(float x, float y) { return ::nextafterf(x, y); }
TANDEM_HD double nextafter(double x, double y) { return ::nextafter(x, y); }

}  // namespace tandem::math
