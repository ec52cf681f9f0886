// script_causes: each cause's name, its place in the script, the function that turns it off, and the remedy.
#include "tandem/tools/explain/causes.h"

#include "tandem/tools/page/format.h"

namespace tandem::tools::explain {
namespace {

using page::cat;

std::string sampler_in_words(Sampler sampler) {
  return sampler == Sampler::whole ? "none: each rank takes all examples" : "DistributedRandomSampler: blocks";
}
std::string tail_in_words(const Script& s) {
  if (s.mean_in_replicas) return "the mean of the replicas' means";
  if (s.tail == Tail::keep || s.examples % s.ranks == 0) return "unequal means count the same";
  return s.tail == Tail::drop ? "the last ones are left out" : "some come twice, to fill up";
}

}  // namespace

std::vector<ScriptCause> script_causes(bool ddp, bool adam, const Script& yours, const Script& right) {
  const std::string wrapped = ddp ? "ddp" : "dp";
  return {
      {"number of steps", [](Script& to, const Script& from) { to.steps = from.steps; },
       cat(yours.steps, ", not ", right.steps),
       cat("for (int64_t step = 0; step < ", right.steps,
           "; ++step)  // as many epochs do, with the same global batch")},
      {"global batch", [](Script& to, const Script& from) { to.global_batch = from.global_batch; },
       cat(yours.global_batch, ", not ", right.global_batch),
       ddp ? cat("data::DataLoaderOptions().batch_size(", right.global_batch,
                 right.accumulate > 1 ? " / accumulate" : "", " / distributed::get_world_size())")
           : cat("data::DataLoaderOptions().batch_size(", right.global_batch,
                 right.accumulate > 1 ? " / accumulate" : "", ")")},
      {"sampler", [](Script& to, const Script& from) { to.sampler = from.sampler; }, sampler_in_words(yours.sampler),
       "data::samplers::ShardSampler sampler(examples, world_size, rank, options);"},
      {"sampler's epoch", [](Script& to, const Script& from) { to.set_epoch = from.set_epoch; },
       "set_epoch is never called", "loader->sampler().set_epoch(epoch);  // before each epoch"},
      {"shuffling seed", [](Script& to, const Script& from) { to.sampler_seed = from.sampler_seed; },
       cat(yours.sampler_seed, ", not ", right.sampler_seed),
       cat("options.seed = ", right.sampler_seed, ";  // on all ranks, and on the one device")},
      {"uneven rows",
       [](Script& to, const Script& from) {
         to.tail = from.tail;
         to.mean_in_replicas = from.mean_in_replicas;
       },
       tail_in_words(yours),
       ddp ? "options.pad = false; ... DistributedDataParallelOptions().weighted_average(true)  // the batch's true "
             "mean"
           : "dp.loss(nn::CrossEntropyLoss(), x, y).backward();  // the batch's true mean"},
      {"accumulation", [](Script& to, const Script& from) { to.divide = from.divide; },
       cat(yours.accumulate, " gradients add up"), "(loss / accumulate).backward();"},
      {"sum or mean", [](Script& to, const Script& from) { to.loss = from.loss; }, "the losses' sum, not their mean",
       cat("cross_entropy(", wrapped, "(x), y)  // Reduction::mean, the default")},
      {"learning rate", [](Script& to, const Script& from) { to.lr = from.lr; }, cat(yours.lr, ", not ", right.lr),
       cat("optim::", adam ? "Adam" : "SGD", "Options(", right.lr,
           ")  // it scales with the global batch, if with anything")},
      {"seeds of the ranks", [](Script& to, const Script& from) { to.rank_seeds = from.rank_seeds; },
       "manual_seed(seed + rank)", "manual_seed(seed);  // on all ranks: rank r draws from stream r of it"},
  };
}

}  // namespace tandem::tools::explain
