// Marks memory that allocators cache as poisoned under AddressSanitizer, so that any access to it is an error.
// Internal.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_ASAN 1
#endif
#endif
#if defined(TANDEM_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define TANDEM_ASAN 0
#endif

namespace tandem {

inline void poison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if TANDEM_ASAN
  __asan_poison_memory_region(data, bytes);
#endif
}
inline void unpoison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if TANDEM_ASAN
  __asan_unpoison_memory_region(data, bytes);
#endif
}

}  // namespace tandem
