// Division by a number that the whole kernel shares: a multiplication and a shift instead of the hundred instructions
// that 64-bit division takes on a GPU (some forty for 32 bits).
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::kernels::cuda {

/// n / d for 0 <= n < 2^63 (2^31 with uint32_t). With 2^s the next power of two from d and B the bits of n, the factor
/// f = floor(2^(B + s) / d) + 1 is off from 2^(B + s) / d by at most 1, so that n f / 2^(B + s) is off by less than
/// n / 2^(B + s) <= 1 / d: too little to reach the next whole number.
template <class U> class DividerOf {
 public:
  __extension__ typedef unsigned __int128 Wide;
  DividerOf() = default;
  explicit DividerOf(int64_t divisor) : divisor_(static_cast<U>(divisor)) {
    while ((Wide(1) << shift_) < Wide(divisor_)) ++shift_;
    if (shift_ == 0) return;  // by one: the factor would have a bit too many
    factor_ = static_cast<U>((Wide(1) << (kBits + shift_)) / Wide(divisor_) + 1);
    --shift_;  // the upper half of a product has been shifted by B + 1 bits already
  }
  TANDEM_HD U divide(U n) const { return factor_ == 0 ? n : high(n, factor_) >> shift_; }
  /// n becomes the remainder; returns the quotient.
  TANDEM_HD U split(U& n) const {
    const U quotient = divide(n);
    n -= quotient * divisor_;
    return quotient;
  }
  TANDEM_HD U divisor() const { return divisor_; }

 private:
  static constexpr int kBits = sizeof(U) * 8 - 1;
  TANDEM_HD static uint32_t high(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
  TANDEM_HD static uint64_t high(uint64_t a, uint64_t b) { return uint64_t(Wide(a) * b >> 64); }
  U divisor_ = 1, factor_ = 0;
  int shift_ = 0;
};
using Divider = DividerOf<uint64_t>;
using Divider32 = DividerOf<uint32_t>;

}  // namespace tandem::kernels::cuda
