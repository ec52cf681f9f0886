// Implements EpochRandomStreams, BatchRandomGuard and ExampleRandomGuard, which number the random streams by epoch,
// rank and position, and switch between the streams.
#include "tandem/data/example_random_streams.h"

#include <atomic>
#include <mutex>
#include <tuple>
#include <vector>

#include "tandem/core/generator.h"
#include "tandem/core/internal.h"
#include "tandem/core/thread_context.h"
#include "tandem/kernels/philox.h"

namespace tandem::data::detail {
namespace {

// Index of the random stream from which seeds are drawn. Models never draw from this stream: their stream indices are
// ranks.
constexpr uint64_t kSeedStream = uint64_t{1} << 63;
constexpr int kRankShift = 40;     // index of a random stream: rank << 40 | epoch
constexpr int kExampleShift = 32;  // example i draws the Philox blocks from i << 32 on
constexpr uint64_t kSeedMask = (uint64_t{1} << 63) - 1;

struct DataRank : RankExtension {
  std::atomic<int> rank{0};
};
std::atomic<int>& data_rank() { return ThreadContext::current().rank_state().extension<DataRank>().rank; }

/// Returns a seed, and the index of the manual_seed() call that it follows. manual_seed() resets every
/// generator to its first block of random numbers, so equal seeds would give equal streams again. The generator is
/// therefore moved to a range of blocks that no earlier manual_seed() call has used.
std::pair<uint64_t, uint64_t> next_seed() {
  static std::mutex mutex;
  static uint64_t num_manual_seeds = 0;
  const std::lock_guard lock(mutex);
  Generator& generator = default_generator(kCPU, kSeedStream);
  PhiloxState state = generator.get_state();
  if (state.offset == 0) state.offset = ++num_manual_seeds << kExampleShift;
  const uint64_t manual_seed_index = state.offset >> kExampleShift;
  const uint64_t number = state.offset++ - (manual_seed_index << kExampleShift);
  generator.set_state(state);
  return {philox64(state.seed, state.stream, 0, number) & kSeedMask, manual_seed_index};
}

}  // namespace

void set_data_rank(int rank) { data_rank() = rank; }

EpochRandomStreams::EpochRandomStreams() { take_seed(); }
uint64_t EpochRandomStreams::current_manual_seed_index() {
  return default_generator(kCPU, kSeedStream).get_state().offset >> kExampleShift;
}
void EpochRandomStreams::take_seed() { std::tie(seed_, manual_seed_index_) = next_seed(); }
void EpochRandomStreams::begin_epoch(size_t sampler_epoch) {
  if (current_manual_seed_index() != manual_seed_index_) {
    take_seed();
    has_begun_ = false;
  }
  const bool is_set = sampler_epoch != (has_begun_ ? sampler_epoch_ : 0);
  epoch_ = is_set ? sampler_epoch : has_begun_ ? epoch_ + 1 : 0;
  sampler_epoch_ = sampler_epoch;
  has_begun_ = true;
}
BatchRandomStreams EpochRandomStreams::make_batch_streams(const ExamplePositions& positions, size_t count) const {
  const uint64_t rank = positions.is_global ? 0 : static_cast<uint64_t>(data_rank());
  return {seed_, rank << kRankShift | epoch_, positions, count};
}
struct BatchRandomState {
  explicit BatchRandomState(const BatchRandomStreams& b)
      : batch(b), generator(b.seed, b.stream_index), guard(generator) {
    seek_example(0);
  }
  uint64_t block_offset_of(size_t i) const {
    return (batch.positions.first_index + i * batch.positions.stride) << kExampleShift;
  }
  void seek_example(size_t i) {
    generator.set_state(
        {batch.seed, batch.stream_index, block_offset_of(i) + (i < num_drawn_blocks.size() ? num_drawn_blocks[i] : 0)});
    at = i;
  }
  void select_example(size_t i) {
    if (i >= batch.num_examples) i = 0;  // examples beyond the requested count use the first example's stream
    if (i == at) return;
    if (num_drawn_blocks.empty()) num_drawn_blocks.resize(batch.num_examples);
    num_drawn_blocks[at] = generator.get_state().offset - block_offset_of(at);
    seek_example(i);
  }

  const BatchRandomStreams batch;
  Generator generator;
  GeneratorGuard guard;
  std::vector<uint64_t> num_drawn_blocks;  // number of blocks already drawn from each example's stream
  size_t at = 0;
  bool in_example_loop = false;
  BatchRandomState* previous_state = nullptr;  // the state that was current on this thread before this one
};

namespace {
thread_local BatchRandomState* current_state = nullptr;
}  // namespace

BatchRandomGuard::BatchRandomGuard(const BatchRandomStreams& batch)
    : state_(std::make_unique<BatchRandomState>(batch)) {
  state_->previous_state = std::exchange(current_state, state_.get());
}
BatchRandomGuard::~BatchRandomGuard() { current_state = state_->previous_state; }

ExampleRandomGuard::ExampleRandomGuard()
    : state_(current_state && !current_state->in_example_loop ? current_state : nullptr) {
  if (state_) state_->in_example_loop = true;
}
ExampleRandomGuard::~ExampleRandomGuard() {
  if (!state_) return;
  state_->select_example(0);
  state_->in_example_loop = false;
}
void ExampleRandomGuard::begin_example(size_t i) {
  if (state_) state_->select_example(i);
}

}  // namespace tandem::data::detail
