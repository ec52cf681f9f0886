// A training script's use of its data: the examples of each step of each rank and their weights; and the causes that
// make two scripts differ.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem::tools::explain {

/// How the ranks of DDP come by their examples.
enum class Sampler : int8_t {
  shard,  // data::samplers::ShardSampler: every n-th of one permutation
  block,  // data::samplers::DistributedRandomSampler: a block of LibTorch's permutation
  whole   // none for several ranks: each goes through all examples, in the same order
};
/// What happens to the examples that do not divide by the ranks.
enum class Tail : int8_t {
  pad,      // some come twice, so that all ranks have as many
  drop,     // they are left out
  keep,     // the first ranks have one more, and the mean of every backward counts the same
  weighted  // the same, but each mean counts by its rows: the batch's true mean
};

/// A script as far as it can differ from another one on the same model, seed and examples.
struct Script {
  int64_t examples = 0, global_batch = 0;  // global_batch: examples of one optimizer step, over all ranks
  int64_t steps = 0;                       // of the optimizer, in as many epochs as that takes
  int ranks = 1;  // that have a sampler and a loader each: 1 on one device and under DataParallel
  Sampler sampler = Sampler::shard;
  bool set_epoch = true;  // whether the sampler is told the epoch
  uint64_t sampler_seed = 0;
  Tail tail = Tail::pad;
  bool mean_in_replicas = false;  // of DataParallel: the loss is the mean of the replicas' means
  int accumulate = 1;             // backwards in a step
  bool divide = true;             // whether the loss of each is divided by their number
  Reduction loss = Reduction::mean;
  double lr = 0;
  bool rank_seeds = false;  // each rank of DDP has a seed of its own
  bool operator==(const Script&) const = default;
};

/// What one forward and backward of a rank takes.
struct Chunk {
  std::vector<int64_t> rows;  // numbers of examples
  double factor = 1;          // of its loss
  bool operator==(const Chunk&) const = default;
};
/// One step of the optimizer: the chunks of each rank.
using Step = std::vector<std::vector<Chunk>>;

/// The steps of a script, from the samplers that it uses.
/// @throws Error where the ranks cannot share a batch, or one of them has no rows in a step
std::vector<Step> plan(const Script& script);
/// How many steps `epochs` epochs are.
int64_t steps_of(Script script, int epochs);

struct ScriptCause {
  std::string name;
  void (*take)(Script& to, const Script& from);  // copies what this cause is about
  std::string yours;                             // what `yours` does and `right` does not
  std::string remedy;
};
/// The data first, then what is made of it: which steps, which examples in which order, how they are weighed, how far a
/// step goes, and which random numbers dropout takes.
std::vector<ScriptCause> script_causes(bool ddp, bool adam, const Script& yours, const Script& right);

}  // namespace tandem::tools::explain
