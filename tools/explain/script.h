// Describes which examples a training script uses in each step on each rank, and how it weights their losses. Also
// lists the causes by which the results of two scripts can differ.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem::tools::explain {

/// How the examples are distributed over the ranks of DDP.
enum class Sampler : int8_t {
  shard,  // data::samplers::ShardSampler: each rank gets every n-th example of a permutation
  block,  // data::samplers::DistributedRandomSampler: each rank gets a contiguous block of LibTorch's permutation
  whole   // no sharding: each rank uses all examples, in the same order
};
/// How the last examples are treated if the number of examples is not a multiple of the number of ranks.
enum class TailPolicy : int8_t {
  pad,   // repeats some examples, so that all ranks have the same number
  drop,  // skips the remaining examples
  /// Gives the first ranks one example more. The mean losses of all backwards get equal weights.
  keep,
  /// As `keep`, but weights each mean loss by its number of rows. This gives the true mean of the batch.
  weighted
};

/// The settings in which two scripts with the same model, seed and examples may differ.
struct Script {
  int64_t examples = 0, global_batch = 0;  // global_batch: examples per optimizer step, over all ranks
  int64_t steps = 0;                       // number of optimizer steps, over as many epochs as needed
  /// Number of ranks, each with its own sampler and data loader. 1 on one device and under DataParallel.
  int ranks = 1;
  Sampler sampler = Sampler::shard;
  bool set_epoch = true;  // whether the script calls set_epoch() of the sampler
  uint64_t sampler_seed = 0;
  TailPolicy tail = TailPolicy::pad;
  bool mean_in_replicas = false;  // DataParallel only: the loss is the mean of the replicas' mean losses
  int accumulate = 1;             // number of backwards per step (gradient accumulation)
  bool divide_loss = true;        // whether the loss of each backward is divided by `accumulate`
  Reduction loss = Reduction::mean;
  double lr = 0;
  bool rank_seeds = false;  // whether each rank of DDP has a different random seed
  bool operator==(const Script&) const = default;
};

/// The examples of one forward and backward on one rank.
struct MicroBatch {
  std::vector<int64_t> rows;  // indices of the examples
  double loss_factor = 1;     // factor by which the loss is multiplied
  bool operator==(const MicroBatch&) const = default;
};
/// One optimizer step: for each rank, the chunks of its forwards and backwards.
using Step = std::vector<std::vector<MicroBatch>>;

/// Returns the steps of a script, as its samplers determine them.
/// @throws Error if the batch size is not a multiple of ranks * accumulate, or if a rank has no rows in some step
std::vector<Step> plan_steps(const Script& script);
/// Returns the number of steps in `epochs` epochs. @throws Error as plan_steps()
int64_t count_steps(Script script, int epochs);

struct ScriptCause {
  std::string name;
  void (*copy_settings)(Script& to,
                        const Script& from);  // copies the settings that make up this cause from `from` to `to`
  std::string yours;                          // phrase that says how the user's script differs from the correct one
  std::string remedy;
};
/// Returns the possible causes of different results of the scripts `yours` and `right`, in this order: number of steps,
/// choice and order of the examples, weights of the losses, learning rate, random numbers of dropout.
std::vector<ScriptCause> script_causes(bool ddp, bool adam, const Script& yours, const Script& right);

}  // namespace tandem::tools::explain
