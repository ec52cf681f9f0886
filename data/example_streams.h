// Random streams of examples: one for each example of an epoch, independent of the thread that makes the example.
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
// example in the epoch. The number of workers and the draws of the model do not matter. The generators of the caller
// are left alone. Where examples are made one by one (Dataset::get, Transform::apply), each draws from its own stream;
// what works on a whole batch draws from the stream of the batch's first example.
//
// A loader (and a ChunkDataset, for its chunks) takes its seed when it is made: the n-th since manual_seed gets the
// n-th number of a stream that nothing else draws from. A begin() after another manual_seed takes a new one. Epochs are
// counted by begin(); where the sampler has a set_epoch(), the epoch that is set counts. Positions are those in the
// epoch of all ranks if the sampler deals them out; with other samplers the rank is a part of the stream. save() and
// load() of a loader keep seed, epoch and position.

namespace tandem::data::detail {

/// Positions in an epoch of the examples that come next: first, first + stride, ...
struct Positions {
  uint64_t first = 0, stride = 1;
  bool of_all_ranks = false;  // else each rank counts its own
};
/// Positions of the indices that a sampler hands out next; `counted` examples have come before.
template <class Sampler> Positions positions_of(const Sampler& sampler, size_t counted) {
  if constexpr (requires { sampler.positions(); })
    return sampler.positions();
  else
    return {counted};
}

/// The epoch that a sampler was told to begin by set_epoch(); 0 if it has none.
template <class Sampler> size_t set_epoch_of(const Sampler& sampler) {
  if constexpr (requires { size_t{sampler.epoch()}; })
    return sampler.epoch();
  else
    return 0;
}

/// The streams of a batch.
struct StreamsOfBatch {
  uint64_t seed = 0, stream = 0;
  Positions positions;
  size_t count = 1;
};

/// The seed and the epoch of a loader.
class EpochStreams {
 public:
  EpochStreams();
  /// The next epoch, or `set` if that is another one than at the last call.
  void begin_epoch(size_t set = 0);
  StreamsOfBatch batch(const Positions& positions, size_t count) const;
  /// Writes seed and epoch, and a position in the epoch; reads them. Files of older versions lack them: then nothing
  /// changes.
  void save(serialize::OutputArchive& archive, size_t position) const;
  void load(serialize::InputArchive& archive, size_t& position);

 private:
  void take_seed();
  static uint64_t current_seeding();
  uint64_t seeding_ = 0;  // which manual_seed the seed is of
  uint64_t seed_ = 0;
  size_t epoch_ = 0, set_ = 0;
  bool begun_ = false;
};

struct BatchStreamsState;

/// While one lives, random operations of this thread draw from the streams of a batch: from its first one, or from the
/// one that an EachExample chooses.
class BatchStreams {
 public:
  explicit BatchStreams(const StreamsOfBatch& batch);
  ~BatchStreams();
  BatchStreams(const BatchStreams&) = delete;

 private:
  std::unique_ptr<BatchStreamsState> state_;
};

/// A loop over the examples of a batch. Within another one it does nothing: the outer loop's example is the one that is
/// made.
class EachExample {
 public:
  EachExample();
  /// The first example's stream is the thread's again.
  ~EachExample();
  EachExample(const EachExample&) = delete;
  /// Makes example i's stream the thread's.
  void begin(size_t i);

 private:
  BatchStreamsState* streams_;  // null: there are none, or another loop has them
};

/// Sets this rank's number for the samplers that know nothing of ranks; 0 until then.
void set_data_rank(int rank);

}  // namespace tandem::data::detail
