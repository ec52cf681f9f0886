// Random number generators. Values come from Philox 4x32-10, a pure function of (seed, stream, offset, element index),
// so they do not depend on the number of threads or on the device.
#pragma once
#include <cstdint>
#include <mutex>

#include "tandem/core/device.h"

namespace tandem {

namespace detail {
/// Position in a random stream. An operation draws its numbers from block `offset` on.
struct PhiloxState {
  uint64_t seed, stream, offset;
};
}  // namespace detail

/// A position in a random stream. Thread-safe. To repeat numbers, save the state and set it again.
class Generator {
 public:
  explicit Generator(uint64_t seed = kDefaultSeed, uint64_t stream = 0) : state_{seed, stream, 0} {}
  /// Reserves the next `elements` numbers and returns where they start. Each block of the stream holds four 32-bit or
  /// two 64-bit numbers.
  detail::PhiloxState reserve_numbers(uint64_t elements);
  /// Sets the seed and returns to the start of the stream.
  void set_current_seed(uint64_t seed);
  /// The current seed.
  uint64_t current_seed() const { return get_state().seed; }
  /// The seed, the stream, and the offset of the next block.
  detail::PhiloxState get_state() const;
  /// Restores a state from get_state(): the same numbers follow.
  void set_state(detail::PhiloxState state);

  static constexpr uint64_t kDefaultSeed = 67280421310721;  // as in PyTorch

 private:
  mutable std::mutex mutex_;
  detail::PhiloxState state_;
};

/// The generator from which this rank's random operations on a device draw: the one set by a GeneratorGuard, else
/// random stream 0 of the rank. If a batch is split over devices or ranks, shard r draws from stream r.
Generator& default_generator(Device device = kCPU);
/// The generator of a stream, regardless of any GeneratorGuard.
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
