// Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): random numbers as a pure
// function of (seed, stream, block), so they are the same on every device and for any number of threads.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem {

struct PhiloxBlock {
  uint32_t word[4];
};

// factors of a round's two multiplications
constexpr uint32_t kPhiloxFactor0 = 0xD2511F53u, kPhiloxFactor1 = 0xCD9E8D57u;
// numbers that each round adds to the two round keys
constexpr uint32_t kPhiloxStep0 = 0x9E3779B9u, kPhiloxStep1 = 0xBB67AE85u;

/// Computes one of the ten rounds, with the keys k0 and k1 of this round.
TANDEM_HD PhiloxBlock philox_round(PhiloxBlock c, uint32_t k0, uint32_t k1) {
  const uint64_t a = uint64_t(kPhiloxFactor0) * c.word[0], b = uint64_t(kPhiloxFactor1) * c.word[2];
  return {{uint32_t(b >> 32) ^ c.word[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c.word[3] ^ k1, uint32_t(a)}};
}
/// Returns the four words of a block. The key of Philox is the seed, and its counter is (block, stream).
TANDEM_HD PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t block) {
  PhiloxBlock c{{uint32_t(block), uint32_t(block >> 32), uint32_t(stream), uint32_t(stream >> 32)}};
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    c = philox_round(c, k0, k1);
    k0 += kPhiloxStep0;
    k1 += kPhiloxStep1;
  }
  return c;
}
/// Returns the i-th 32-bit random number of the sequence that starts at block `offset`. A block holds four of them.
TANDEM_HD uint32_t philox32(uint64_t seed, uint64_t stream, uint64_t offset, uint64_t i) {
  return philox(seed, stream, offset + i / 4).word[i % 4];
}
/// Returns the i-th 64-bit random number of the sequence that starts at block `offset`. A block holds two of them.
TANDEM_HD uint64_t philox64(uint64_t seed, uint64_t stream, uint64_t offset, uint64_t i) {
  const PhiloxBlock b = philox(seed, stream, offset + i / 2);
  return i % 2 ? uint64_t(b.word[3]) << 32 | b.word[2] : uint64_t(b.word[1]) << 32 | b.word[0];
}
/// Convert random bits to a number that is uniform in [0, 1), with 24 random bits in float and 53 in double.
TANDEM_HD float uniform_float(uint32_t bits) { return float(int32_t(bits >> 8)) * 0x1p-24f; }
TANDEM_HD double uniform_double(uint64_t bits) { return double(bits >> 11) * 0x1p-53; }

}  // namespace tandem
