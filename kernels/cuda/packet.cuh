// Packet: consecutive elements that one load or store moves, if they have up to 16 bytes, the maximum for one
// instruction of a thread.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::kernels::cuda {

template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Packet {
  T v[N];
  TANDEM_HD T& operator[](int i) { return v[i]; }
  TANDEM_HD const T& operator[](int i) const { return v[i]; }
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
