// Random number generators. Values come from Philox 4x32-10, a pure function of (seed, stream, offset, element index),
// so they do not depend on the number of threads or on the device.
#pragma once
#include <cstdint>
#include <mutex>

#include "tandem/core/device.h"

namespace tandem {

namespace detail {
/// Position in a random stream: the stream is identified by `seed` and `stream`, and `offset` is the index of a block
/// of 128 random bits in it.
struct PhiloxState {
  uint64_t seed, stream, offset;
};
}  // namespace detail

/// Source of numbers for random operations: a position in a random stream, which each operation advances. Thread-safe.
/// To draw the same numbers again, save the state and restore it.
class Generator {
 public:
  explicit Generator(uint64_t seed = kDefaultSeed, uint64_t stream = 0) : state_{seed, stream, 0} {}
  /// Reserves random numbers for `elements` elements, and returns the position of the first. Each block of the stream
  /// holds four 32-bit or two 64-bit numbers.
  detail::PhiloxState reserve_numbers(uint64_t elements);
  /// Sets the seed and returns to the start of the stream.
  void set_current_seed(uint64_t seed);
  /// The current seed.
  uint64_t current_seed() const { return get_state().seed; }
  /// The seed, the number of the random stream, and the index of the next block in it.
  detail::PhiloxState get_state() const;
  /// Restores a state from get_state(): the same numbers follow.
  void set_state(detail::PhiloxState state);

  static constexpr uint64_t kDefaultSeed = 67280421310721;  // as in PyTorch

 private:
  mutable std::mutex mutex_;
  detail::PhiloxState state_;
};

/// The generator from which this rank's random operations on a device draw: the one set by a GeneratorGuard, else the
/// rank's generator with random stream number 0. If a batch is split over devices or ranks, part r of the batch draws
/// from random stream number r.
Generator& default_generator(Device device = kCPU);
/// This rank's generator with random stream number `stream`, regardless of any GeneratorGuard.
Generator& default_generator(Device device, uint64_t stream);
/// Seeds the generators of this rank for all devices, also for devices that were not used yet.
void manual_seed(uint64_t seed);

/// While this guard lives, random operations on this thread draw from `generator`.
class GeneratorGuard {
 public:
  explicit GeneratorGuard(Generator& generator);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;

 private:
  Generator* saved_generator_;
};

}  // namespace tandem
