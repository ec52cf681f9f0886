// Packet: consecutive elements that one load or store moves, if they have up to 16 bytes, the maximum for one
// instruction of a thread.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "tandem/core/half.h"

namespace tandem::kernels::cuda {

template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Packet {
  T v[N];
  TANDEM_HD T& operator[](int i) { return v[i]; }
  TANDEM_HD const T& operator[](int i) const { return v[i]; }
};

/// Like Packet, but keeps the elements in 32-bit words, as they are in a thread's registers after a load. One
/// instruction extracts an element.
template <class T, int N> struct PackedVector {
  using Part = std::conditional_t<(N * sizeof(T) < sizeof(uint32_t)), uint16_t, uint32_t>;
  static constexpr int kParts = N * sizeof(T) / sizeof(Part);
  Packet<Part, kParts> parts;
  TANDEM_HD T operator[](int v) const {
    if constexpr (sizeof(T) == 8) {
      return __builtin_bit_cast(T, parts[2 * v] | uint64_t(parts[2 * v + 1]) << 32);
    } else {
      constexpr int kEach = sizeof(Part) / sizeof(T);
      const uint32_t bits = uint32_t(parts[v / kEach]) >> (v % kEach * 8 * sizeof(T));
      if constexpr (std::is_same_v<T, bool>)
        return (bits & 0xff) != 0;
      else if constexpr (sizeof(T) == 1)
        return T(bits);
      else
        return __builtin_bit_cast(T, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>(bits));
    }
  }
};

/// Returns a reference to the Word at p, so that one load or store moves it. p must be a multiple of Word's alignment:
/// a GPU faults on other addresses. A reference is returned instead of a copy, because the emulated build then detects
/// such addresses, too: clang's sanitizer checks alignment when it binds a reference, but not when it copies a struct.
template <class Word> TANDEM_HD Word& word_at(void* p) { return *static_cast<Word*>(p); }
template <class Word> TANDEM_HD const Word& word_at(const void* p) { return *static_cast<const Word*>(p); }

inline bool is_aligned(const void* p, size_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

/// Loads elements i to i + N - 1 of `from`; elements at or after `end` become zeros. Uses a single load if `aligned`
/// and all N elements exist.
template <int N, class T> TANDEM_HD Packet<T, N> load_packet(const T* from, int64_t i, int64_t end, bool aligned) {
  using P = Packet<T, N>;
  if (aligned && i + N <= end) return word_at<P>(from + i);
  P packet;
#pragma unroll
  for (int j = 0; j < N; ++j) packet[j] = i + j < end ? from[i + j] : T(0);
  return packet;
}
template <int N, class T>
TANDEM_HD void store_packet(const Packet<T, N>& packet, T* to, int64_t i, int64_t end, bool aligned) {
  if (aligned && i + N <= end) {
    word_at<Packet<T, N>>(to + i) = packet;
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j)
    if (i + j < end) to[i + j] = packet[j];
}

}  // namespace tandem::kernels::cuda
