// Writes past the cache (non-temporal stores), for data that is too large to stay in a cache until it is read. A cache
// line that is written as a whole is not read from memory first.
#pragma once
#include "tandem/kernels/functors/base.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kNontemporalBytes = int64_t(48)
                                      << 20;  // number of bytes from which on writes past the cache are faster
#if defined(__SSE2__)
typedef long long Word __attribute__((vector_size(16), may_alias));
/// Writes 16 bytes to an address that is a multiple of 16.
TANDEM_HD void nontemporal_store(void* to, Word word) {
#if defined(__clang__)
  __builtin_nontemporal_store(word, reinterpret_cast<Word*>(to));
#else
  __builtin_ia32_movntdq(reinterpret_cast<Word*>(to), word);
#endif
}
/// Store fence. Call it after writes past the cache, before telling another thread that the data is there.
TANDEM_HD void nontemporal_fence() { __builtin_ia32_sfence(); }
#else
typedef long long Word __attribute__((vector_size(16)));
TANDEM_HD void nontemporal_store(void* to, Word word) { __builtin_memcpy(to, &word, sizeof word); }
TANDEM_HD void nontemporal_fence() {}
#endif

/// Writes `bytes` bytes, 16 at a time. The address and `bytes` are multiples of 16.
[[maybe_unused]] TANDEM_HD void nontemporal_store(void* to, const void* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += int64_t(sizeof(Word))) {
    Word word;
    __builtin_memcpy(&word, static_cast<const char*>(from) + i, sizeof word);
    nontemporal_store(static_cast<char*>(to) + i, word);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
