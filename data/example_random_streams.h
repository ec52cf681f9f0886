// Random streams of examples: each example of an epoch has its own stream of random numbers, whichever thread makes the
// example.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

// Note [Random numbers of examples]
//
// The numbers that a dataset or a transform draws for an example follow from a seed, the epoch, and the position of the
// example in the epoch. They depend neither on the number of workers nor on the draws of the model, and they do not
// advance the caller's generators. If examples are made one by one (Dataset::get, Transform::apply), each draws from
// its own stream; code that works on a whole batch draws from the stream of the batch's first example.
//
// A loader (and a ChunkDataset, for its chunks) takes its seed when it is constructed: the n-th loader since
// manual_seed takes the n-th number of a stream that nothing else draws from. A begin() after another manual_seed takes
// a new seed. begin() counts the epochs; if the sampler has a set_epoch(), that epoch is used instead. If the sampler
// divides an epoch among the ranks of a job, positions are positions in the epoch of all ranks together; with other
// samplers, the rank is a part of the stream's index. A loader's save() and load() include seed, epoch and position.

namespace tandem::data::detail {

/// Positions of the next examples in the epoch: first_index, first_index + stride, ...
struct ExamplePositions {
  uint64_t first_index = 0, stride = 1;
  bool is_global = false;  // true: `first_index` counts the examples of all ranks; false: of this rank only
};
/// Returns the positions, within the epoch, of the indices that a sampler returns next. `counted` is the number of
/// examples that were requested earlier in the epoch.
template <class Sampler> ExamplePositions get_sampler_positions(const Sampler& sampler, size_t counted) {
  if constexpr (requires { sampler.positions(); })
    return sampler.positions();
  else
    return {counted};
}

/// Returns the epoch that was passed to the sampler's set_epoch(); 0 if the sampler has no epoch().
template <class Sampler> size_t get_sampler_epoch(const Sampler& sampler) {
  if constexpr (requires { size_t{sampler.epoch()}; })
    return sampler.epoch();
  else
    return 0;
}

/// Identifies the random streams of a batch's examples.
struct BatchRandomStreams {
  uint64_t seed = 0, stream_index = 0;
  ExamplePositions positions;
  size_t num_examples = 1;
};

/// Seed and epoch of a loader, which determine the random streams of its batches.
class EpochRandomStreams {
 public:
  EpochRandomStreams();
  /// Begins the next epoch; or epoch `sampler_epoch`, if `sampler_epoch` differs from the value at the last call.
  void begin_epoch(size_t sampler_epoch = 0);
  BatchRandomStreams make_batch_streams(const ExamplePositions& positions, size_t count) const;
  /// Write and read the seed, the epoch and a position in the epoch. If the file lacks them, because an older version
  /// wrote it, load() changes nothing.
  void save(serialize::OutputArchive& archive, size_t position) const;
  void load(serialize::InputArchive& archive, size_t& position);

 private:
  void take_seed();
  static uint64_t current_manual_seed_index();
  uint64_t manual_seed_index_ = 0;  // number of the manual_seed() call that determines the seed
  uint64_t seed_ = 0;
  size_t epoch_ = 0, sampler_epoch_ = 0;
  bool has_begun_ = false;
};

struct BatchRandomState;

/// Scope guard. While it exists, random operations of this thread draw from the streams of a batch: from the first
/// example's stream, or from the stream that an ExampleRandomGuard has selected.
class BatchRandomGuard {
 public:
  explicit BatchRandomGuard(const BatchRandomStreams& batch);
  ~BatchRandomGuard();
  BatchRandomGuard(const BatchRandomGuard&) = delete;

 private:
  std::unique_ptr<BatchRandomState> state_;
};

/// Scope guard of a loop over the examples of a batch; begin_example(i) selects the random stream of example i. Inside
/// another ExampleRandomGuard it does nothing, because the example of the outer loop is being made.
class ExampleRandomGuard {
 public:
  ExampleRandomGuard();
  /// Selects the first example's stream again.
  ~ExampleRandomGuard();
  ExampleRandomGuard(const ExampleRandomGuard&) = delete;
  /// Selects the stream of example i.
  void begin_example(size_t i);

 private:
  BatchRandomState* state_;  // null if no BatchRandomGuard exists, or if an outer ExampleRandomGuard does
};

/// Sets the rank that selects the random streams if the sampler does not divide the examples among ranks. Initially 0.
void set_data_rank(int rank);

}  // namespace tandem::data::detail
