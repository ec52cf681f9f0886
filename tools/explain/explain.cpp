// Implements explain(): trains the scripts with each possible cause alone, and with one cause after the other removed,
// and compares the results.
#include "tandem/tools/explain/explain.h"

#include <algorithm>
#include <cstdio>

#include "tandem/tandem.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/demo/data_folder.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::explain {
namespace {

template <class Value>
Value find_by_name(const std::string& word, const std::vector<std::pair<std::string, Value>>& all) {
  for (const auto& [name, value] : all)
    if (name == word) return value;
  // Unreachable, because the command line accepts only the words in `all`.
  TANDEM_FAIL("explain: internal error: there is no value for the word '", word, "'; please report it");
}

Script make_one_device_script(const Settings& s, int64_t largest_batch) {
  Script script;
  script.global_batch = s.batch;
  script.sampler_seed = s.seed;
  script.lr = s.lr;
  script.examples = s.examples > 0 ? s.examples : 2 * largest_batch;
  // Adds half a batch (rounded to a multiple of the ranks, at least one example per rank) and one more example, so that
  // the last batch is uneven.
  if (s.uneven) script.examples += std::max<int64_t>(s.batch / 2 / s.ranks, 1) * s.ranks + 1;
  script.steps = count_steps(script, s.epochs);
  return script;
}
Script make_parallel_script(const Settings& s, bool ddp, const Script& one_device) {
  Script script = one_device;
  script.tail = TailPolicy::keep;
  script.global_batch = s.global_batch > 0 ? s.global_batch : ddp ? s.batch * s.ranks : s.batch;
  script.accumulate = s.accumulate;
  script.divide_loss = s.divide_loss || s.accumulate == 1;
  script.sampler_seed = s.sampler_seed.value_or(s.seed);
  script.set_epoch = !s.no_set_epoch;
  script.loss = s.loss == "sum" ? Reduction::sum : Reduction::mean;
  script.lr = s.lr * s.lr_scale;
  script.mean_in_replicas = !ddp && s.mean_in_replicas;
  if (ddp) {
    script.ranks = s.ranks;
    script.rank_seeds = s.rank_seeds;
    script.sampler = find_by_name<Sampler>(
        s.sampler, {{"shard", Sampler::shard}, {"block", Sampler::block}, {"whole", Sampler::whole}});
    script.tail = find_by_name<TailPolicy>(
        s.tail, {{"pad", TailPolicy::pad}, {"drop", TailPolicy::drop}, {"keep", TailPolicy::keep}});
  }
  script.steps = s.steps > 0 ? s.steps : count_steps(script, s.epochs);
  return script;
}
/// Returns the parallel script as it should be written: with none of the differences that a script can avoid.
Script make_correct_script(const Script& one_device, const Script& yours) {
  Script script = one_device;
  script.ranks = yours.ranks;
  script.accumulate = yours.accumulate;
  script.tail = TailPolicy::weighted;
  return script;
}
/// Plans every script that will run, so that an impossible one throws before the first run. If yours.tail and
/// right.tail give the same steps, the tail mode is not a cause, and yours.tail is set to right.tail.
void check_scripts(bool ddp, Script& yours, const Script& right) {
  Script even = right;
  even.tail = yours.tail;
  if (plan_steps(even) == plan_steps(right)) yours.tail = right.tail;
  Script script = yours;
  for (const ScriptCause& c : script_causes(ddp, /*adam=*/false, yours, right)) {
    Script with = right;
    c.copy_settings(with, yours);
    c.copy_settings(script, right);
    plan_steps(with);
    plan_steps(script);
  }
}

/// Runs parallel scripts and caches the outcomes, so that each script runs only once.
class RunCache {
 public:
  explicit RunCache(Job job) : job_(std::move(job)) {}
  const Job& job() const { return job_; }
  const Outcome& get_outcome(const Script& script) {
    for (const auto& [known, outcome] : outcomes_)
      if (known == script) return *outcome;
    return *outcomes_.emplace_back(script, std::make_unique<Outcome>(run_parallel(job_, script))).second;
  }

 private:
  Job job_;
  std::vector<std::pair<Script, std::unique_ptr<Outcome>>> outcomes_;
};

void explain_script(RunCache& runs, const Outcome& one_device, const Script& right, Explanation& e) {
  Script script = e.yours;
  for (const ScriptCause& c : script_causes(runs.job().ddp, runs.job().adam, e.yours, right)) {
    Cause cause{.name = c.name, .remedy = c.remedy};
    Script with = right;
    c.copy_settings(with, e.yours);
    c.copy_settings(script, right);
    if (!(with == right)) {
      cause.isolated_difference = compare_outcomes(runs.get_outcome(with), runs.get_outcome(right));
      cause.is_present = !cause.isolated_difference.equal();
      cause.yours = c.yours;
    }
    cause.remaining_difference = compare_outcomes(runs.get_outcome(script), one_device).parameters;
    e.causes.push_back(std::move(cause));
  }
}

/// Measures the causes that are inherent in the parallel mode. Compares runs on one device that imitate the replicas:
/// the rows over which batch norm computes statistics, the random-number streams, and the order of sums.
void explain_mode(RunCache& runs, const Script& right, Explanation& e) {
  const Job& job = runs.job();
  const Outcome& yours = runs.get_outcome(right);
  const bool norm = has_batch_norm(job), random = has_dropout(job);
  const Outcome groups = run_in_groups(job, right, true, true), in_order = run_replicas_in_order(job, right);
  const auto add = [&](const char* name, bool is_possible, const std::string& words, const Outcome& with,
                       const Outcome& without, const Outcome& without_earlier_causes, const char* remedy) {
    Cause cause{.name = name, .is_inherent = true, .remedy = remedy};
    if (is_possible) {
      cause.isolated_difference = compare_outcomes(with, without);
      cause.is_present = !cause.isolated_difference.equal();
      cause.yours = words;
    }
    cause.remaining_difference = compare_outcomes(yours, without_earlier_causes).parameters;
    e.causes.push_back(std::move(cause));
  };
  const std::string rows = std::to_string(right.global_batch / job.ranks / right.accumulate);
  const Outcome whole_norm = norm ? run_in_groups(job, right, false, true) : groups,
                whole_random = random ? run_in_groups(job, right, true, false) : groups;
  add("batch-norm groups", norm, "statistics of " + rows + " rows, not " + std::to_string(right.global_batch),
      whole_norm, groups, whole_random,
      job.ddp ? "nn::convert_sync_batchnorm(net);  // before wrapping net: uses the statistics of all ranks' rows"
              : "nn::GroupNorm(8, channels)  // instead of BatchNorm2d(channels): uses one example at a time");
  add("random stream", random, std::string(job.ddp ? "rank" : "shard") + " r draws from stream r", whole_random, groups,
      groups, "const GeneratorGuard guard(default_generator(device, r));  // on one device, for the rows of shard r");
  add("rounding", true, "different order of the sums", groups, in_order, in_order,
      job.ddp
          ? "for (r = 0; r < k; ++r) loss(net(x[r]), y[r]).backward();  // on one device; then gradients times 1 / k"
          : "for (r = 0; r < k; ++r) (loss_sum(net(x[r]), y[r]) / rows).backward();  // on one device");
  e.causes.back()
      .isolated_difference.op.clear();  // meaningless: a whole batch and its shards differ from the first operation on
  e.equal = is_bitwise_equal(yours, in_order);
  if (!e.equal) e.unexplained_op = compare::first_difference(yours.fingerprints, in_order.fingerprints);
}

Job make_job(const Settings& s, bool ddp, int64_t examples) {
  Job job;
  job.model = s.model;
  job.ddp = ddp;
  job.backend = s.backend;
  job.ranks = s.ranks;
  job.adam = s.optimizer == "adam";
  job.seed = s.seed;
  job.dropout = !s.no_dropout;
  job.batch_statistics = !s.frozen_norm;
  if (s.data.empty()) {
    Generator own(s.seed);
    const GeneratorGuard guard(own);
    constexpr int64_t kClasses = 10;
    job.images = rand({examples, 1, 28, 28});
    job.labels = randint(kClasses, {examples}, kInt64);
    return job;
  }
  using data::datasets::FashionMNIST;
  const FashionMNIST set(find_fashion_mnist(s.data), FashionMNIST::Mode::kTest);
  const int64_t is_possible = set.targets().size(0);
  check_usage(examples <= is_possible, "--examples: ", examples, " were requested, but ", s.data, " has ", is_possible);
  job.images = set.images().narrow(0, 0, examples);
  job.labels = set.targets().narrow(0, 0, examples);
  return job;
}

Explanation explain_one(const Settings& s, bool ddp) {
  Explanation e;
  e.mode = (ddp ? "DDP over " + s.backend + ", " : "DataParallel, ") + std::to_string(s.ranks) +
           (ddp ? " ranks" : " devices");
  const Script right = rethrow_as_usage_error([&] {
    const int64_t largest = std::max({s.batch * s.ranks, s.global_batch, s.batch});
    e.one_device = make_one_device_script(s, largest);
    e.yours = make_parallel_script(s, ddp, e.one_device);
    const Script without = make_correct_script(e.one_device, e.yours);
    check_scripts(ddp, e.yours, without);
    return without;
  });
  RunCache runs(make_job(s, ddp, e.one_device.examples));
  const Outcome one_device = run_one_device(runs.job(), e.one_device);
  const Outcome& yours = runs.get_outcome(e.yours);
  e.loss_on_one_device = one_device.loss;
  e.your_loss = yours.loss;
  e.difference = compare_outcomes(yours, one_device);
  e.difference.op.clear();  // meaningless: a whole batch and its shards differ from the first operation on
  explain_script(runs, one_device, right, e);
  explain_mode(runs, right, e);
  return e;
}

}  // namespace

std::vector<Explanation> explain_all(const Settings& s) {
  check_usage(s.backend != "gloo" || distributed::is_gloo_available(), "--backend gloo: this build has no Gloo");
  std::vector<Explanation> all;
  for (const bool ddp : {false, true})
    if (std::find(s.modes.begin(), s.modes.end(), ddp ? "ddp" : "dp") != s.modes.end())
      all.push_back(explain_one(s, ddp));
  return all;
}

int explain(const Settings& s) {
  check_can_write("--json", s.json);
  const std::vector<Explanation> all = explain_all(s);
  std::printf("%s", format_text(s, all).c_str());
  if (!s.json.empty()) write_file_atomically("explain", s.json, format_json(s, all));
  return std::all_of(all.begin(), all.end(), [](const Explanation& e) { return e.equal; }) ? 0 : 1;
}

}  // namespace tandem::tools::explain
