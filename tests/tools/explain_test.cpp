// Tests `tandem explain`: planted causes of a difference are named, alone and in pairs. Otherwise the two scripts
// agree to the last bit, and nothing else is named.
#include <nlohmann/json.hpp>
#include <set>

#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/explain/explain.h"
#include "tandem/tools/explain/groups.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::tools::explain;

namespace {

using Names = std::set<std::string>;

/// Settings of a script on one device, and of an equivalent script in this mode
Settings default_settings(const std::string& mode, const std::string& model = "mlp") {
  Settings s;
  s.model = model, s.modes = {mode}, s.batch = 8, s.global_batch = 8, s.examples = 16;
  return s;
}
/// Returns the names of the causes: those inherent to the mode, or those of the script.
Names cause_names(const Explanation& e, bool is_inherent) {
  Names names;
  for (const Cause& c : e.causes)
    if (c.is_present && c.is_inherent == is_inherent) names.insert(c.name);
  return names;
}
const Cause& find_cause(const Explanation& e, const std::string& name) {
  for (const Cause& c : e.causes)
    if (c.name == name) return c;
  throw std::runtime_error("there is no cause " + name);
}
Explanation run_explain(const Settings& s) {
  const Explanation e = explain_all(s).at(0);
  INFO(format_text(s, {e}));
  CHECK(e.equal);
  CHECK(e.causes.back().remaining_difference == 0);
  return e;
}

struct InjectedCause {
  std::string name;  // name of the cause
  void (*plant)(Settings&);
};
std::vector<InjectedCause> injected_causes(bool ddp) {
  std::vector<InjectedCause> all = {
      {"number of steps", [](Settings& s) { s.steps = 3; }},
      {"sampler's epoch", [](Settings& s) { s.no_set_epoch = true; }},
      {"shuffling seed", [](Settings& s) { s.sampler_seed = 5; }},
      {"accumulation", [](Settings& s) { s.accumulate = 2; }},
      {"sum or mean", [](Settings& s) { s.loss = "sum"; }},
      {"learning rate", [](Settings& s) { s.lr_scale = 2; }},
  };
  if (ddp) {
    all.push_back({"sampler", [](Settings& s) { s.sampler = "block"; }});
    all.push_back({"uneven rows", [](Settings& s) { s.uneven = true; }});
  } else {
    // The last batch of 7 rows is also uneven for two accumulated backwards.
    all.push_back({"uneven rows", [](Settings& s) { s.examples = 23, s.mean_in_replicas = true; }});
  }
  return all;
}

}  // namespace

TEST_CASE("explain: where nothing is planted, nothing is named but rounding", "[explain]") {
  for (const std::string mode : {"dp", "ddp"})
    for (const int ranks : {2, 4}) {
      CAPTURE(mode, ranks);
      Settings s = default_settings(mode);
      s.ranks = ranks;
      const Explanation e = run_explain(s);
      CHECK(cause_names(e, false).empty());
      CHECK(cause_names(e, true) == Names{"rounding"});
      CHECK(e.difference.parameters < 1e-6);  // rounding: eight steps add floats in another order
    }
}

TEST_CASE("explain names what is planted, alone and in pairs", "[explain]") {
  const std::string mode = GENERATE("dp", "ddp");
  const std::vector<InjectedCause> all = injected_causes(mode == "ddp");
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = a; b < (TANDEM_TEST_SANITIZED ? a + 1 : all.size()); ++b) {
      CAPTURE(mode, all[a].name, all[b].name);
      Settings s = default_settings(mode);
      all[a].plant(s), all[b].plant(s);
      const Explanation e = run_explain(s);
      Names expected = {all[a].name, all[b].name};
      // The block sampler does not shuffle, so a seed has no effect.
      if (s.sampler == "block") expected.erase("shuffling seed");
      const Names found = cause_names(e, false);
      CHECK(found.count("sum or mean") == expected.count("sum or mean"));
      if (s.sampler == "block") expected.insert(found.count("shuffling seed") ? "shuffling seed" : "sampler");
      CHECK(found == expected);
    }
}

TEST_CASE("explain: the batch of every rank, batch norm and dropout are causes of their own", "[explain]") {
  for (const std::string mode : {"dp", "ddp"}) {
    CAPTURE(mode);
    Settings s = default_settings(mode, "fashion_cnn");
    s.epochs = 1;
    Explanation e = run_explain(s);
    CHECK(cause_names(e, false).empty());
    CHECK(cause_names(e, true) == Names{"batch-norm groups", "random stream", "rounding"});
    CHECK(find_cause(e, "random stream").remaining_difference < 1e-5);  // only rounding error is left
    CHECK_THAT(find_cause(e, "batch-norm groups").remedy,
               Contains(mode == "ddp" ? "nn::convert_sync_batchnorm(net);" : "nn::GroupNorm(8, channels)"));
    if (mode == "dp" || TANDEM_TEST_SANITIZED) continue;
    s.rank_seeds = true;
    CHECK(cause_names(run_explain(s), false) == Names{"seeds of the ranks"});
    s.rank_seeds = false;
    s.no_dropout = true;
    CHECK(cause_names(run_explain(s), true) == Names{"batch-norm groups", "rounding"});
    s.no_dropout = false, s.frozen_norm = true;
    CHECK(cause_names(run_explain(s), true) == Names{"random stream", "rounding"});
  }
  Settings wrapped = default_settings("ddp");
  wrapped.global_batch = 0, wrapped.examples = 32;
  const Explanation e = run_explain(wrapped);
  CHECK(cause_names(e, false) == Names{"number of steps", "global batch"});
  CHECK(e.yours.global_batch == 16);
  CHECK(e.yours.steps * 2 == e.one_device.steps);
}

TEST_CASE("explain: three parts, any tail, accumulation, Adam and DataParallel's parts", "[explain]") {
  Settings s = default_settings("ddp");
  s.ranks = 3, s.batch = s.global_batch = 12, s.examples = 24, s.uneven = true,
  s.tail = GENERATE("pad", "drop", "keep");
  const Explanation uneven = run_explain(s);
  CHECK(cause_names(uneven, false) == Names{"uneven rows"});
  // uneven_batches_test.cpp tests the effect of these remedies.
  CHECK_THAT(find_cause(uneven, "uneven rows").remedy,
             Contains("DistributedDataParallelOptions().weighted_average(true)"));
  s.accumulate = 2, s.divide_loss = true;
  CHECK(cause_names(run_explain(s), false) == Names{"uneven rows"});
  s.optimizer = "adam", s.lr_scale = 3;
  CHECK(cause_names(run_explain(s), false) == Names{"uneven rows", "learning rate"});
  s.modes = {"dp"}, s.mean_in_replicas = true, s.uneven = false, s.examples += 11;
  CHECK(cause_names(run_explain(s), false) == Names{"uneven rows", "learning rate"});
}

TEST_CASE("explain: a last step of fewer backwards, which is divided like the others", "[explain]") {
  Settings s = default_settings(GENERATE("dp", "ddp"));
  s.accumulate = 2, s.divide_loss = true, s.examples = 20;
  CHECK(cause_names(run_explain(s), false) == Names{"uneven rows"});
}

TEST_CASE("explain: a sampler that shares nothing, over either backend", "[explain]") {
  Settings s = default_settings("ddp");
  s.sampler = "whole";
  CHECK(cause_names(run_explain(s), false) == Names{"number of steps", "sampler"});
  if (!TANDEM_HAS_GLOO) {
    WARN("SKIPPED: built without Gloo");
    return;
  }
  s.backend = "gloo";
  CHECK(cause_names(run_explain(s), false) == Names{"number of steps", "sampler"});
}

TEST_CASE("explain: effects have the size and the step that they must have", "[explain]") {
  Settings s = default_settings("ddp");
  s.steps = 1, s.epochs = 1, s.batch = s.global_batch = s.examples = 8, s.lr_scale = 2;
  const Cause rate = find_cause(run_explain(s), "learning rate");
  CHECK(rate.isolated_difference.step == 1);
  // With twice the rate the first step is twice as long, so the difference is the largest element of the SGD step.
  manual_seed(s.seed);
  models::Mlp net;
  Generator own(s.seed);
  Tensor x, y;
  {
    const GeneratorGuard guard(own);
    x = rand({8, 1, 28, 28}), y = randint(10, {8}, kInt64);
  }
  cross_entropy(net(x), y).backward();
  double longest = 0;
  for (const Tensor& p : net->parameters()) longest = std::max(longest, p.grad().abs().max().item<double>());
  CHECK(rate.isolated_difference.parameters ==
        Approx(s.lr * longest).epsilon(1e-3));  // 1e-3: the update is a difference of floats

  s = default_settings("ddp");
  s.no_set_epoch = true;
  const Explanation e = run_explain(s);
  const Cause& epoch = find_cause(e, "sampler's epoch");
  CHECK(epoch.isolated_difference.step == e.one_device.steps / 2 + 1);  // the first step of the second epoch
  CHECK_THAT(epoch.isolated_difference.op, Contains("step " + std::to_string(epoch.isolated_difference.step)));
  s.epochs = 1;
  CHECK(cause_names(run_explain(s), false).empty());  // no effect with one epoch
}

TEST_CASE("explain: layers in groups do what the replicas' layers do, each on its rows", "[explain]") {
  const auto groups = std::make_shared<std::vector<RowGroup>>(std::vector<RowGroup>{{0, {0, 1, 2}}, {1, {3, 4}}});
  const Tensor x = randn({5, 2, 3, 3});
  nn::BatchNorm2d norm(2), isolated_difference(2);
  const Tensor evaluated = (isolated_difference->eval(), isolated_difference(x));
  isolated_difference->train();
  apply_in_groups(*norm, groups);
  const Tensor y = norm(x);
  CHECK(y.narrow(0, 0, 3).equal(isolated_difference(x.narrow(0, 0, 3))));
  CHECK(norm->running_mean.equal(isolated_difference->running_mean));  // the running mean of the first replica
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  CHECK(y.narrow(0, 3, 2).equal(isolated_difference(x.narrow(0, 3, 2))));
  norm->running_mean.zero_(), norm->running_var.fill_(1);
  norm->eval();
  CHECK(norm(x).equal(evaluated));

  nn::Dropout drop(0.5);
  apply_in_groups(*drop, groups);
  manual_seed(3);
  const Tensor dropped = drop(x);
  manual_seed(3);
  for (const auto& [replica, first, rows] : {std::tuple{0, 0, 3}, {1, 3, 2}}) {
    const GeneratorGuard guard(default_generator(kCPU, static_cast<uint64_t>(replica)));
    CHECK(dropped.narrow(0, first, rows).equal(dropout(x.narrow(0, first, rows), 0.5, true)));
  }
}

TEST_CASE("explain says so where something stays unexplained", "[explain]") {
  Explanation e;
  e.unexplained_op = "conv2d, step 3";
  CHECK_THAT(format_text(Settings(), {e}),
             Contains("NOT EXPLAINED") && Contains("first at conv2d, step 3") && !Contains("equal to the last bit"));
}

TEST_CASE("explain: the command prints a table, and writes it as JSON", "[explain][command]") {
  const TemporaryFolder folder;
  const Result result =
      run_program(kCommand, {"explain", "--model", "mlp", "--batch-size", "8", "--lr-scale", "2", "--no-set-epoch",
                             "--uneven", "--loss", "sum", "--json", folder / "out.json"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  for (const char* words : {"DataParallel, 2 devices", "DDP over local, 2 ranks", "set_epoch(epoch);",
                            "some examples come twice", "0.002, not 0.001", "equal to the last bit"})
    CHECK_THAT(result.output, Contains(words));
  const nlohmann::json json = nlohmann::json::parse(read_file(folder / "out.json"));
  REQUIRE(json.at("modes").size() == 2);
  const nlohmann::json& ddp = json.at("modes").at(1);
  CHECK(ddp.at("equal") == true);
  for (const auto& c : ddp.at("causes"))
    if (c.at("name") == "sampler's epoch") CHECK(c.at("present") == true);
  CHECK(ddp.at("causes").back().at("left") == 0);
}

TEST_CASE("explain: options that cannot be are refused, with 2", "[explain][command]") {
  struct Case {
    std::vector<std::string> arguments, words;
  };
  const std::vector<Case> cases = {
      {{"--model", "lenet"}, {"--model: 'lenet' is not known; accepted: mlp, fashion_cnn"}},
      {{"--ranks", "1"}, {"--ranks: '1' is out of range; accepted: 2 to 8"}},
      {{"--batch-size", "9"}, {"a batch of 9 cannot be split among 2 rank(s)", "accepted: a multiple of 2"}},
      {{"--mode", "ddp", "--accumulate", "3"},
       {"a batch of 32 cannot be split among 2 rank(s) with 3 backward(s) per step"}},
      {{"--mode", "dp", "--sampler", "whole"}, {"--sampler applies to DDP, but --mode is dp"}},
      {{"--mode", "ddp", "--mean-in-replicas"}, {"--mean-in-replicas applies to DataParallel, but --mode is ddp"}},
      {{"--divide-loss"}, {"--divide-loss", "--accumulate"}},
      {{"--mode", "ddp", "--examples", "33", "--tail", "keep"},
       {"a last batch with no rows, or with at least one row"}},
      {{"--mode", "ddp", "--examples", "65", "--batch-size", "20", "--global-batch", "32"},
       {"rank 1 has 2 batches in an epoch, but rank 0 has 3"}},
      {{"--examples", "20000", "--data", "/no/such/folder"}, {"there is no such folder"}},
      {{"--lr-scale", "two"}, {"--lr-scale: 'two' is not a number"}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = {"explain"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Result result = run_program(kCommand, arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    for (const std::string& word : c.words) CHECK_THAT(result.output, Contains(word));
    CHECK_THAT(result.output, !Contains(".cpp:"));
  }
}
