// Implements plan_steps and count_steps, which compute the examples and loss weights of every step on every rank, and
// script_causes, which lists how two scripts differ.
#include "tandem/tools/explain/script.h"

#include "tandem/data/data.h"
#include "tandem/tools/page/format.h"

namespace tandem::tools::explain {
namespace {

using Indices = std::vector<size_t>;

/// Returns the indices of the examples that one rank uses in an epoch, in order.
Indices rank_indices(const Script& s, int rank, size_t epoch) {
  using namespace data::samplers;
  if (!s.set_epoch) epoch = 0;
  const auto size = static_cast<size_t>(s.examples);
  const auto ranks = static_cast<size_t>(s.ranks), own = static_cast<size_t>(rank);
  if (s.sampler == Sampler::block) {
    DistributedRandomSampler sampler(size, ranks, own);
    sampler.set_epoch(epoch);
    sampler.reset();
    return sampler.next(size).value_or(Indices());
  }
  ShardSamplerOptions options;
  options.seed = s.sampler_seed;
  options.drop_last = s.tail == TailPolicy::drop;
  options.pad = s.tail == TailPolicy::pad;
  const bool whole = s.sampler == Sampler::whole;
  ShardSampler sampler(size, whole ? 1 : ranks, whole ? 0 : own, options);
  sampler.set_epoch(epoch);
  return sampler.indices();
}

/// Sets the factors by which the losses of a step are multiplied.
void set_loss_factors(const Script& s, Step& step) {
  double rows = 0;
  for (const std::vector<MicroBatch>& micro_batches : step)
    for (const MicroBatch& micro_batch : micro_batches) rows += static_cast<double>(micro_batch.rows.size());
  for (std::vector<MicroBatch>& micro_batches : step)
    for (MicroBatch& micro_batch : micro_batches) {
      if (s.divide_loss) micro_batch.loss_factor = 1.0 / s.accumulate;
      if (s.tail != TailPolicy::weighted || s.loss != Reduction::mean) continue;
      // If all chunks of the step have the same number of rows, this equals the factor set above.
      micro_batch.loss_factor = static_cast<double>(micro_batch.rows.size()) * static_cast<double>(s.ranks) / rows;
      if (!s.divide_loss) micro_batch.loss_factor *= static_cast<double>(micro_batches.size());
    }
}

/// Returns the training steps of an epoch.
std::vector<Step> make_epoch_steps(const Script& s, size_t epoch) {
  const auto ranks = static_cast<size_t>(s.ranks);
  const auto rank_batch = static_cast<size_t>(s.global_batch) / ranks,
             backward = rank_batch / static_cast<size_t>(s.accumulate);
  std::vector<Step> steps;
  for (size_t r = 0; r < ranks; ++r) {
    const Indices all = rank_indices(s, static_cast<int>(r), epoch);
    const size_t count = (all.size() + rank_batch - 1) / rank_batch;
    if (r == 0) steps.resize(count, Step(ranks));
    TANDEM_CHECK(count == steps.size(), "explain: with ", s.examples, " examples and batches of ", s.global_batch,
                 " rank ", r, " has ", count, " batches in an epoch, but rank 0 has ", steps.size(),
                 "; accepted: a last batch with no rows, or with at least one row for each of ", s.ranks, " ranks");
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<MicroBatch>& micro_batches = steps[i / rank_batch][r];
      if (i % rank_batch % backward == 0) micro_batches.emplace_back();
      micro_batches.back().rows.push_back(static_cast<int64_t>(all[i]));
    }
  }
  for (Step& step : steps) set_loss_factors(s, step);
  return steps;
}

using page::str_cat;

std::string describe_sampler(Sampler sampler) {
  return sampler == Sampler::whole ? "none: all examples on each rank" : "DistributedRandomSampler: blocks";
}
std::string describe_tail(const Script& s) {
  if (s.mean_in_replicas) return "mean of the replicas' means";
  if (s.tail == TailPolicy::keep || s.examples % s.ranks == 0) return "means of unequal shards, averaged";
  return s.tail == TailPolicy::drop ? "the last examples are dropped" : "some examples come twice";
}

}  // namespace

std::vector<Step> plan_steps(const Script& s) {
  TANDEM_CHECK(s.global_batch % (static_cast<int64_t>(s.ranks) * s.accumulate) == 0, "explain: a batch of ",
               s.global_batch, " cannot be split among ", s.ranks, " rank(s) with ", s.accumulate,
               " backward(s) per step; accepted: a multiple of ", s.ranks * s.accumulate);
  std::vector<Step> steps;
  for (size_t epoch = 0; static_cast<int64_t>(steps.size()) < s.steps; ++epoch) {
    const std::vector<Step> more = make_epoch_steps(s, epoch);
    TANDEM_CHECK(!more.empty(), "explain: ", s.examples, " examples are too few for ", s.ranks,
                 " ranks; accepted: at least one batch for each rank");
    steps.insert(steps.end(), more.begin(), more.end());
  }
  steps.resize(static_cast<size_t>(s.steps));
  return steps;
}

int64_t count_steps(Script script, int epochs) {
  script.steps = 1;
  plan_steps(script);  // throws if the script cannot run
  return epochs * static_cast<int64_t>(make_epoch_steps(script, 0).size());
}

std::vector<ScriptCause> script_causes(bool ddp, bool adam, const Script& yours, const Script& right) {
  const std::string wrapped = ddp ? "ddp" : "dp";
  return {
      {"number of steps", [](Script& to, const Script& from) { to.steps = from.steps; },
       str_cat(yours.steps, ", not ", right.steps),
       str_cat("for (int64_t step = 0; step < ", right.steps,
               "; ++step)  // as on one device, with the same global batch")},
      {"global batch", [](Script& to, const Script& from) { to.global_batch = from.global_batch; },
       str_cat(yours.global_batch, ", not ", right.global_batch),
       ddp ? str_cat("data::DataLoaderOptions().batch_size(", right.global_batch,
                     right.accumulate > 1 ? " / accumulate" : "", " / distributed::get_world_size())")
           : str_cat("data::DataLoaderOptions().batch_size(", right.global_batch,
                     right.accumulate > 1 ? " / accumulate" : "", ")")},
      {"sampler", [](Script& to, const Script& from) { to.sampler = from.sampler; }, describe_sampler(yours.sampler),
       "data::samplers::ShardSampler sampler(examples, world_size, rank, options);"},
      {"sampler's epoch", [](Script& to, const Script& from) { to.set_epoch = from.set_epoch; },
       "set_epoch is never called", "loader->sampler().set_epoch(epoch);  // before each epoch"},
      {"shuffling seed", [](Script& to, const Script& from) { to.sampler_seed = from.sampler_seed; },
       str_cat(yours.sampler_seed, ", not ", right.sampler_seed),
       str_cat("options.seed = ", right.sampler_seed, ";  // on all ranks, and on the one device")},
      {"uneven rows",
       [](Script& to, const Script& from) {
         to.tail = from.tail;
         to.mean_in_replicas = from.mean_in_replicas;
       },
       describe_tail(yours),
       ddp ? "options.pad = false; ... DistributedDataParallelOptions().weighted_average(true)  // the batch's true "
             "mean"
           : "dp.loss(nn::CrossEntropyLoss(), x, y).backward();  // the batch's true mean"},
      {"accumulation", [](Script& to, const Script& from) { to.divide_loss = from.divide_loss; },
       str_cat(yours.accumulate, " gradients are summed"), "(loss / accumulate).backward();"},
      {"sum or mean", [](Script& to, const Script& from) { to.loss = from.loss; }, "sum of the losses, not their mean",
       str_cat("cross_entropy(", wrapped, "(x), y)  // Reduction::mean, the default")},
      {"learning rate", [](Script& to, const Script& from) { to.lr = from.lr; }, str_cat(yours.lr, ", not ", right.lr),
       str_cat("optim::", adam ? "Adam" : "SGD", "Options(", right.lr,
               ")  // scale it only if the global batch grows")},
      {"seeds of the ranks", [](Script& to, const Script& from) { to.rank_seeds = from.rank_seeds; },
       "manual_seed(seed + rank)", "manual_seed(seed);  // the same on all ranks: rank r then draws from stream r"},
  };
}

}  // namespace tandem::tools::explain
