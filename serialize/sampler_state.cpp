// Implements save and load of samplers and of EpochRandomStreams. For samplers that LibTorch has, the keys are the same
// as LibTorch's.
#include "tandem/core/internal.h"
#include "tandem/data/example_random_streams.h"
#include "tandem/data/samplers/distributed_samplers.h"
#include "tandem/data/samplers/shard_sampler.h"
#include "tandem/data/samplers/weighted_random_sampler.h"
#include "tandem/serialize/archive.h"

namespace tandem::data::samplers {
namespace {

using serialize::InputArchive;
using serialize::OutputArchive;

Tensor read_tensor(const InputArchive& archive, const char* key) {
  Tensor value;
  archive.read(key, value, /*is_buffer=*/true);
  return value;
}

}  // namespace

void detail::write_number(OutputArchive& archive, const char* key, size_t value) {
  archive.write(key, core::scalar(static_cast<int64_t>(value), kInt64, kCPU), /*is_buffer=*/true);
}
size_t detail::read_number(const InputArchive& archive, const char* key, size_t min_value, size_t max_value) {
  const Tensor value = read_tensor(archive, key);
  TANDEM_CHECK(value.numel() == 1 && value.dtype() == kInt64, "a sampler's '", key, "' is ", value.sizes(), " of ",
               value.dtype(), "; accepted: one int64 value");
  const auto number = value.item<int64_t>();
  TANDEM_CHECK(number >= 0 && static_cast<size_t>(number) >= min_value && static_cast<size_t>(number) <= max_value,
               "a sampler's '", key, "' is ", number, "; accepted: ", min_value, " to ", max_value,
               " for a sampler of its size");
  return static_cast<size_t>(number);
}
void detail::check_same_replicas(const InputArchive& archive, const char* sampler, size_t num_replicas) {
  Tensor saved;
  if (!archive.try_read("num_replicas", saved, /*is_buffer=*/true)) return;  // missing if LibTorch wrote the file
  const size_t before = read_number(archive, "num_replicas", 1, SIZE_MAX);
  TANDEM_CHECK(before == num_replicas, sampler, ": the position was saved with num_replicas ", before,
               ", and num_replicas is now ", num_replicas,
               ", which gives each rank other examples; accepted: the same number, or a ShardSampler, whose ranks take "
               "turns");
}

void SequentialSampler::save(OutputArchive& archive) const { write_number(archive, "index", index_); }
void SequentialSampler::load(InputArchive& archive) { index_ = read_number(archive, "index", 0, size_); }

void RandomSampler::save(OutputArchive& archive) const {
  write_number(archive, "index", index());
  archive.write("indices", indices_, /*is_buffer=*/true);
}
void RandomSampler::load(InputArchive& archive) {
  const Tensor indices = read_tensor(archive, "indices");
  const Dtype dtype = indices.dtype();
  TANDEM_CHECK(indices.dim() == 1 &&
                   (dtype == kInt64 || dtype == kInt32 || dtype == kInt16 || dtype == kInt8 || dtype == kUInt8),
               "a sampler's 'indices' is ", indices.sizes(), " of ", dtype, "; accepted: one dimension of integers");
  index_ = static_cast<int64_t>(read_number(archive, "index", 0, static_cast<size_t>(indices.numel())));
  indices_ = indices.contiguous();
}

void WeightedRandomSampler::save(OutputArchive& archive) const {
  write_number(archive, "index", index_);
  write_number(archive, "seed", next_state_.seed);
  write_number(archive, "offset", next_state_.offset);
  Tensor indices = core::empty({static_cast<int64_t>(indices_.size())}, kInt64, kCPU);
  for (size_t i = 0; i < indices_.size(); ++i) indices.data<int64_t>()[i] = static_cast<int64_t>(indices_[i]);
  archive.write("indices", indices, /*is_buffer=*/true);
}
void WeightedRandomSampler::load(InputArchive& archive) {
  const Tensor saved = read_tensor(archive, "indices");
  TANDEM_CHECK(saved.dim() == 1 && saved.dtype() == kInt64, "a sampler's 'indices' is ", saved.sizes(), " of ",
               saved.dtype(), "; accepted: one dimension of int64");
  const Tensor list = saved.contiguous();
  const int64_t* p = list.data<int64_t>();
  for (int64_t i = 0; i < list.numel(); ++i)
    TANDEM_CHECK(p[i] >= 0 && p[i] < weights_.numel(), "a sampler's 'indices' has ", p[i], "; accepted: 0 to ",
                 weights_.numel() - 1, ", because the sampler has ", weights_.numel(), " weights");
  const size_t index = read_number(archive, "index", 0, static_cast<size_t>(list.numel()));
  const size_t seed = read_number(archive, "seed", 0, SIZE_MAX);
  const size_t offset = read_number(archive, "offset", 0, SIZE_MAX);
  indices_.assign(p, p + list.numel());
  index_ = index;
  next_state_ = {seed, /*stream=*/0, offset};
}

void StreamSampler::save(OutputArchive& archive) const {
  write_number(archive, "examples_retrieved_so_far", examples_retrieved_so_far_);
}
void StreamSampler::load(InputArchive& archive) {
  examples_retrieved_so_far_ = read_number(archive, "examples_retrieved_so_far", 0, epoch_size_);
}

void DistributedRandomSampler::save(OutputArchive& archive) const {
  write_number(archive, "sample_index_", sample_index_);
  write_number(archive, "epoch_", epoch_);
  write_number(archive, "num_replicas", num_replicas_);
}
void DistributedRandomSampler::load(InputArchive& archive) {
  check_same_replicas(archive, "DistributedRandomSampler", num_replicas_);
  const size_t epoch = read_number(archive, "epoch_", 0, SIZE_MAX);
  const size_t index = read_number(archive, "sample_index_", begin_index(), end_index());
  epoch_ = epoch;
  reset();
  sample_index_ = index;
}

void DistributedSequentialSampler::save(OutputArchive& archive) const {
  write_number(archive, "sample_index_", sample_index_);
  write_number(archive, "num_replicas", num_replicas_);
}
void DistributedSequentialSampler::load(InputArchive& archive) {
  check_same_replicas(archive, "DistributedSequentialSampler", num_replicas_);
  sample_index_ = read_number(archive, "sample_index_", begin_index(), end_index());
}

void ShardSampler::save(OutputArchive& archive) const {
  write_number(archive, "epoch", epoch_);
  write_number(archive, "index", index_);
  write_number(archive, "num_replicas", num_replicas_);
}
void ShardSampler::load(InputArchive& archive) {
  const size_t epoch = read_number(archive, "epoch", 0, SIZE_MAX);
  size_t ranks = num_replicas_;
  Tensor saved;
  if (archive.try_read("num_replicas", saved, /*is_buffer=*/true))
    ranks = read_number(archive, "num_replicas", 1, size_t{1} << 20);
  // The ranks take examples in turn from one order, which is equal on all ranks. After each rank has taken `index`
  // examples, the first index * ranks examples of the order are used up. Another number of ranks can continue after
  // them.
  size_t index = read_number(archive, "index", 0, ranks == num_replicas_ ? indices_.size() : size_);
  const bool at_end = ranks != num_replicas_ && index * ranks >= size_;
  TANDEM_CHECK(at_end || index * ranks % num_replicas_ == 0, "ShardSampler: ", ranks, " ranks have taken ", index,
               " examples each, which ", num_replicas_,
               " ranks cannot share evenly; accepted: a number of ranks that divides the product of these two numbers, "
               "as it does if the batch size over all ranks stays the same");
  index = at_end ? indices_.size() : std::min(index * ranks / num_replicas_, indices_.size());
  epoch_ = epoch;
  reset();
  index_ = index;
}

}  // namespace tandem::data::samplers

namespace tandem::data::detail {

using samplers::detail::read_number;
using samplers::detail::write_number;

void EpochRandomStreams::save(serialize::OutputArchive& archive, size_t position) const {
  write_number(archive, "stream_seed", seed_);
  write_number(archive, "stream_epoch", epoch_);
  write_number(archive, "stream_set_epoch", sampler_epoch_);
  write_number(archive, "stream_begun", has_begun_ ? 1 : 0);
  write_number(archive, "position", position);
}
void EpochRandomStreams::load(serialize::InputArchive& archive, size_t& position) {
  Tensor saved_seed;
  if (!archive.try_read("stream_seed", saved_seed, /*is_buffer=*/true)) return;
  const size_t seed = read_number(archive, "stream_seed", 0, SIZE_MAX);
  const size_t epoch = read_number(archive, "stream_epoch", 0, SIZE_MAX);
  const size_t set = read_number(archive, "stream_set_epoch", 0, SIZE_MAX);
  const bool begun = read_number(archive, "stream_begun", 0, 1) == 1;
  position = read_number(archive, "position", 0, SIZE_MAX);
  seed_ = seed;
  epoch_ = epoch;
  sampler_epoch_ = set;
  has_begun_ = begun;
  manual_seed_index_ = current_manual_seed_index();
}

}  // namespace tandem::data::detail
