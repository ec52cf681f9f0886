// Random words of Philox for loops, computed for many blocks side by side.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"
#include "tandem/kernels/philox.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kBlocks = 64;  // number of Philox blocks in a tile
constexpr int64_t kWords = 4 * kBlocks;

#if defined(__AVX512F__)
constexpr int kPhiloxBytes = 64;
#elif defined(__AVX2__)
constexpr int kPhiloxBytes = 32;
#else
constexpr int kPhiloxBytes = 16;
#endif
/// One word of several Philox blocks, each in the low half of 64 bits. The high halves may hold anything.
typedef uint64_t PhiloxWords __attribute__((vector_size(kPhiloxBytes)));
constexpr int kPhiloxWidth = kPhiloxBytes / 8;

/// Multiplies the low halves: 32 by 32 to 64 bits. gcc does not find the instruction by itself.
TANDEM_HD PhiloxWords multiply_words(PhiloxWords a, PhiloxWords b) {
#if defined(__clang__) || !defined(__x86_64__)
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#else
  typedef int Ints __attribute__((vector_size(kPhiloxBytes)));
#if defined(__AVX512F__)
  typedef long long Longs __attribute__((vector_size(kPhiloxBytes)));
  return PhiloxWords(__builtin_ia32_pmuludq512_mask(Ints(a), Ints(b), Longs{}, 255));
#elif defined(__AVX2__)
  return PhiloxWords(__builtin_ia32_pmuludq256(Ints(a), Ints(b)));
#else
  return PhiloxWords(__builtin_ia32_pmuludq128(Ints(a), Ints(b)));
#endif
#endif
}

/// Computes the 32-bit words of `count` Philox blocks from block `first` on, with the same results as philox().
/// Computes a few vectors of blocks side by side, because each instruction waits for the one before; `count` is rounded
/// up to a multiple of 16.
[[maybe_unused]] TANDEM_NOINLINE void philox_tile(uint64_t seed, uint64_t stream, uint64_t first, int64_t count,
                                                  uint32_t* words) {
  constexpr int kVectors = kPhiloxBytes == 64 ? 2 : 4, kAtOnce = kVectors * kPhiloxWidth;
  typedef uint64_t WordPair __attribute__((may_alias, aligned(4)));
  PhiloxWords number;
  for (int i = 0; i < kPhiloxWidth; ++i) number[i] = uint64_t(i);
  count = (count + 15) / 16 * 16;
  for (int64_t b = 0; b < count; b += kAtOnce) {
    PhiloxWords c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      c0[v] = number + (first + uint64_t(b + v * kPhiloxWidth));
      c1[v] = c0[v] >> 32;
      c2[v] = PhiloxWords{} + stream;
      c3[v] = PhiloxWords{} + (stream >> 32);
    }
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
    for (int round = 0; round < 10; ++round) {  // philox_round() of each block
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const PhiloxWords x = multiply_words(c0[v], PhiloxWords{} + kPhiloxFactor0),
                          y = multiply_words(c2[v], PhiloxWords{} + kPhiloxFactor1);
        c0[v] = (y >> 32) ^ c1[v] ^ (PhiloxWords{} + k0);
        c1[v] = y;
        c2[v] = (x >> 32) ^ c3[v] ^ (PhiloxWords{} + k1);
        c3[v] = x;
      }
      k0 += kPhiloxStep0;
      k1 += kPhiloxStep1;
    }
    uint64_t pairs[2][kAtOnce];  // words 0 and 1, and words 2 and 3 of each block
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const PhiloxWords lower = (c0[v] & 0xFFFFFFFFu) | c1[v] << 32, upper = (c2[v] & 0xFFFFFFFFu) | c3[v] << 32;
      __builtin_memcpy(pairs[0] + v * kPhiloxWidth, &lower, sizeof(lower));
      __builtin_memcpy(pairs[1] + v * kPhiloxWidth, &upper, sizeof(upper));
    }
    WordPair* const to = reinterpret_cast<WordPair*>(words + 4 * b);
    for (int i = 0; i < kAtOnce; ++i) {
      to[2 * i] = pairs[0][i];
      to[2 * i + 1] = pairs[1][i];
    }
  }
}

/// Divides the random numbers [begin, end) of a draw into tiles, and calls f(first, count, words) for each. Number
/// first + i takes kWordsPerNumber words of 32 bits, from words[i * kWordsPerNumber] on. The draw starts `offset`
/// blocks after `state`, {seed, stream, block}.
template <int kWordsPerNumber, class F>
void for_random_words(const uint64_t* state, uint64_t offset, int64_t begin, int64_t end, F f) {
  const uint64_t seed = state[0], stream = state[1];
  offset += state[2];
  uint32_t words[kWords];
  while (begin < end) {
    const int64_t skipped = begin * kWordsPerNumber % 4, room = (kWords - skipped) / kWordsPerNumber;
    const int64_t count = end - begin < room ? end - begin : room;
    philox_tile(seed, stream, offset + uint64_t(begin * kWordsPerNumber / 4),
                (skipped + count * kWordsPerNumber + 3) / 4, words);
    f(begin, count, words + skipped);
    begin += count;
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
