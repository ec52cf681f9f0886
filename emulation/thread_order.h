// The order in which blocks, and threads between two barriers, run. CUDA promises none, so a kernel that depends on one
// is wrong: run it in several.
#pragma once
#include <cstdint>
#include <numeric>

namespace tandem::emulation {

enum class ThreadOrder {
  forward,  // 0, 1, 2, ...
  reverse,
  shuffle,  // any thread that can go on goes on next, by seed; a kernel's order depends on its name and the seed only
};
struct OrderSetting {
  ThreadOrder order = ThreadOrder::forward;
  uint64_t seed = 0;
};

/// For grids that start from now on, of all host threads. Until it is called, the environment decides:
/// TANDEM_EMULATION_ORDER=forward|reverse|shuffle:SEED.
void set_thread_order(ThreadOrder order, uint64_t seed = 0);
/// @throws Error when the environment names no order
OrderSetting thread_order();

/// Small numbers by chance (splitmix64, whose every seed is as good).
class Chance {
 public:
  explicit Chance(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }

 private:
  uint64_t state_;
};

/// A rearrangement of 0 to n - 1 that needs no memory: i -> (a i + b) mod n, where a and n have no common divisor.
class Rearrangement {
 public:
  explicit Rearrangement(uint64_t n = 1) : n_(n) {}
  static Rearrangement reversed(uint64_t n) { return {n, n - 1, n - 1}; }
  static Rearrangement by_chance(uint64_t n, Chance& chance) {
    uint64_t a = 1;
    do a = chance.below(n) + 1;
    while (std::gcd(a, n) != 1);
    return {n, a, chance.below(n)};
  }
  uint64_t operator[](uint64_t i) const { return static_cast<uint64_t>((static_cast<Wide>(a_) * i + b_) % n_); }

 private:
  using Wide = unsigned __int128;
  Rearrangement(uint64_t n, uint64_t a, uint64_t b) : n_(n), a_(a), b_(b) {}
  uint64_t n_, a_ = 1, b_ = 0;
};

}  // namespace tandem::emulation
