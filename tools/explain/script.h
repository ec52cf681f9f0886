// A training script's use of its data: the examples of each step of each rank, and their weights. Also the causes by
// which two scripts can differ.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem::tools::explain {

/// How the ranks of DDP share the examples.
enum class Sampler : int8_t {
  shard,  // data::samplers::ShardSampler: every n-th example of a permutation
  block,  // data::samplers::DistributedRandomSampler: a block of LibTorch's permutation
  whole   // no sharding: each rank goes through all examples, in the same order
};
/// Treatment of the examples left over when the ranks do not divide their number.
enum class Tail : int8_t {
  pad,      // some examples are repeated, so that all ranks have the same number
  drop,     // the examples left over are skipped
  keep,     // the first ranks have one more; the mean losses of all backwards get equal weight
  weighted  // as keep, but each mean is weighted by its rows, which gives the batch's true mean
};

/// The settings of a script that may differ between two scripts with the same model, seed and examples.
struct Script {
  int64_t examples = 0, global_batch = 0;  // global_batch: examples of one optimizer step, over all ranks
  int64_t steps = 0;                       // steps of the optimizer, over as many epochs as needed
  int ranks = 1;  // ranks with a sampler and a loader each: 1 on one device and under DataParallel
  Sampler sampler = Sampler::shard;
  bool set_epoch = true;  // whether the sampler is told the epoch
  uint64_t sampler_seed = 0;
  Tail tail = Tail::pad;
  bool mean_in_replicas = false;  // DataParallel only: the loss is the mean of the replicas' mean losses
  int accumulate = 1;             // backwards per step
  bool divide = true;             // divide the loss of each backward by `accumulate`
  Reduction loss = Reduction::mean;
  double lr = 0;
  bool rank_seeds = false;  // each rank of DDP has its own seed
  bool operator==(const Script&) const = default;
};

/// The examples of one forward and backward of a rank.
struct Chunk {
  std::vector<int64_t> rows;  // indices of examples
  double factor = 1;          // factor of the loss
  bool operator==(const Chunk&) const = default;
};
/// One step of the optimizer: the chunks of each rank.
using Step = std::vector<std::vector<Chunk>>;

/// Returns the steps of a script, from its samplers.
/// @throws Error if the batch does not divide by ranks * accumulate, or a rank has no rows in some step
std::vector<Step> plan(const Script& script);
/// Returns the number of steps in `epochs` epochs.
int64_t steps_of(Script script, int epochs);

struct ScriptCause {
  std::string name;
  void (*take)(Script& to, const Script& from);  // copies the settings behind this cause
  std::string yours;                             // describes how `yours` differs from `right`
  std::string remedy;
};
/// Returns the causes by which `yours` may differ from `right`, in this order: number of steps, choice and order of the
/// examples, weights of the losses, learning rate, random numbers of dropout.
std::vector<ScriptCause> script_causes(bool ddp, bool adam, const Script& yours, const Script& right);

}  // namespace tandem::tools::explain
