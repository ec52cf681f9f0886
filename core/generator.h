// Random streams. Values come from Philox 4x32-10, a pure function of (seed, stream, offset, element index), so that
// they do not depend on the number of threads or on the device.
#pragma once
#include <cstdint>
#include <mutex>

#include "tandem/core/device.h"

namespace tandem {

namespace detail {
/// Names the numbers that one operation draws: block `offset` and on of a stream.
struct PhiloxState {
  uint64_t seed, stream, offset;
};
}  // namespace detail

/// A position in a random stream. Thread-safe. Copying its state and setting it again repeats the numbers.
class Generator {
 public:
  explicit Generator(uint64_t seed = kDefaultSeed, uint64_t stream = 0) : state_{seed, stream, 0} {}
  /// Takes the next `elements` numbers; each block of the stream holds four 32-bit or two 64-bit ones.
  detail::PhiloxState reserve(uint64_t elements);
  /// Begins the stream of this seed anew.
  void set_current_seed(uint64_t seed);
  /// The seed that it was last given.
  uint64_t current_seed() const { return get_state().seed; }
  /// The seed, the stream and how many numbers were taken.
  detail::PhiloxState get_state() const;
  /// Goes to a place that get_state() gave: the same numbers follow.
  void set_state(detail::PhiloxState state);

  static constexpr uint64_t kDefaultSeed = 67280421310721;  // as PyTorch's

 private:
  mutable std::mutex mutex_;
  detail::PhiloxState state_;
};

/// The generator that a rank's random operations on a device draw from, unless a GeneratorGuard names another: that of
/// stream 0. Shard r of a batch that is divided among devices or ranks draws from stream r.
Generator& default_generator(Device device = kCPU);
/// That of a stream, whatever a guard says.
Generator& default_generator(Device device, uint64_t stream);
/// Seeds every generator of this rank, those of devices not yet used included.
void manual_seed(uint64_t seed);

/// Random operations of this thread draw from `generator` while the guard lives.
class GeneratorGuard {
 public:
  explicit GeneratorGuard(Generator& generator);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;

 private:
  Generator* saved_;
};

}  // namespace tandem
