// Divisors, multiples and shifts of integers; the float next to another.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::math {

/// As unsigned numbers, of which the smallest integer has a size too; what does not fit wraps.
TANDEM_HD uint64_t size_of(int64_t x) { return x < 0 ? -uint64_t(x) : uint64_t(x); }
TANDEM_HD uint64_t gcd_of_sizes(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
TANDEM_HD int64_t gcd(int64_t a, int64_t b) { return int64_t(gcd_of_sizes(size_of(a), size_of(b))); }
/// What does not fit wraps, and loses its sign as in PyTorch.
TANDEM_HD int64_t lcm(int64_t a, int64_t b) {
  const uint64_t divisor = gcd_of_sizes(size_of(a), size_of(b));
  return divisor == 0 ? 0 : int64_t(size_of(int64_t(size_of(a) / divisor * size_of(b))));
}
/// A narrower integer is wide here: what leaves it, or its sign, is the same when it is stored.
TANDEM_HD int64_t left_shift(int64_t x, int64_t n) { return n < 0 || n > 63 ? 0 : int64_t(uint64_t(x) << n); }
TANDEM_HD int64_t right_shift(int64_t x, int64_t n) { return x >> (n < 0 || n > 63 ? 63 : n); }

TANDEM_HD float nextafter(float x, float y) { return ::nextafterf(x, y); }
TANDEM_HD double nextafter(double x, double y) { return ::nextafter(x, y); }

}  // namespace tandem::math
