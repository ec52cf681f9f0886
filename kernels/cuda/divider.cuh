// Division by a divisor that is constant during a launch, by a multiplication and a shift: 64-bit division takes about
// a hundred instructions on a GPU, 32-bit division about forty.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::kernels::cuda {

/// Computes n / d for 0 <= n < 2^63 (2^31 with uint32_t). Let 2^s be the smallest power of two that is at least d, and
/// B the number of bits of n. The factor f = floor(2^(B + s) / d) + 1 exceeds 2^(B + s) / d by at most 1. So n * f /
/// 2^(B + s) exceeds n / d by at most n / 2^(B + s) < 1 / d, which is too little to reach the next integer.
template <class U> class DividerOf {
 public:
  __extension__ typedef unsigned __int128 Wide;
  DividerOf() = default;
  explicit DividerOf(int64_t divisor) : divisor_(static_cast<U>(divisor)) {
    while ((Wide(1) << shift_) < Wide(divisor_)) ++shift_;
    if (shift_ == 0) return;  // for divisor 1, factor_ stays 0, and divide() returns n
    factor_ = static_cast<U>((Wide(1) << (kBits + shift_)) / Wide(divisor_) + 1);
    --shift_;  // multiply_high() already shifts the product by B + 1 bits, where n has B bits
  }
  TANDEM_HD U divide(U n) const { return factor_ == 0 ? n : multiply_high(n, factor_) >> shift_; }
  /// Divides n by the divisor: returns the quotient, and sets n to the remainder.
  TANDEM_HD U div_mod(U& n) const {
    const U quotient = divide(n);
    n -= quotient * divisor_;
    return quotient;
  }
  TANDEM_HD U divisor() const { return divisor_; }

 private:
  static constexpr int kBits = sizeof(U) * 8 - 1;
  TANDEM_HD static uint32_t multiply_high(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
  TANDEM_HD static uint64_t multiply_high(uint64_t a, uint64_t b) { return uint64_t(Wide(a) * b >> 64); }
  U divisor_ = 1, factor_ = 0;
  int shift_ = 0;
};
using Divider = DividerOf<uint64_t>;
using Divider32 = DividerOf<uint32_t>;

}  // namespace tandem::kernels::cuda
