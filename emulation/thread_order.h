// The order in which the emulation runs the blocks of a grid, and the threads of a block between two barriers. CUDA
// guarantees no order, so a kernel that depends on one is wrong. Tests run kernels in several orders to find such
// errors.
#pragma once
#include <cstdint>
#include <numeric>

namespace tandem::emulation {

enum class ThreadOrder {
  forward,  // 0, 1, 2, ...
  reverse,
  shuffle,  // runs blocks and threads in a random order, which depends only on the seed and the kernel's name
};
struct OrderSetting {
  ThreadOrder order = ThreadOrder::forward;
  uint64_t seed = 0;
};

/// Sets the order for grids that start after this call, on all host threads. The initial order is set by the
/// environment variable TANDEM_EMULATION_ORDER=forward|reverse|shuffle:SEED.
void set_thread_order(ThreadOrder order, uint64_t seed = 0);
/// Returns the current order. @throws Error if TANDEM_EMULATION_ORDER has an invalid value
OrderSetting thread_order();

/// Small random number generator: splitmix64, which accepts any seed.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t next_below(uint64_t limit) { return next() % limit; }

 private:
  uint64_t state_;
};

/// Permutation of 0 to n - 1 that needs no memory: i -> (a * i + b) mod n, where a and n have no common divisor.
class Permutation {
 public:
  explicit Permutation(uint64_t n = 1) : n_(n) {}
  static Permutation reversed(uint64_t n) { return {n, n - 1, n - 1}; }
  static Permutation shuffled(uint64_t n, SplitMix64& random) {
    uint64_t a = 1;
    do a = random.next_below(n) + 1;
    while (std::gcd(a, n) != 1);
    return {n, a, random.next_below(n)};
  }
  uint64_t operator[](uint64_t i) const { return static_cast<uint64_t>((static_cast<Wide>(a_) * i + b_) % n_); }

 private:
  using Wide = unsigned __int128;
  Permutation(uint64_t n, uint64_t a, uint64_t b) : n_(n), a_(a), b_(b) {}
  uint64_t n_, a_ = 1, b_ = 0;
};

}  // namespace tandem::emulation
