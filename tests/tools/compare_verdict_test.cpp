// Verdicts from repeats that are made up: how many repeats they need, which differences they call one, and what they
// say.
#include <cmath>
#include <random>

#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/compare/comparison.h"
#include "tandem/tools/compare/measure/repeats.h"
#include "tandem/tools/compare/statistics.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::tools::compare;

namespace {

struct MadeMode {
  std::string key;
  int devices;
  double speedup;  // true speedup over one device
};

/// Returns a report on modes with the given speedups. The machine's speed drifts by a factor of 2 during the repeats,
/// in all modes alike. @param noise  largest relative deviation of a single repeat
Report make_report(int repeats, const std::vector<MadeMode>& modes, double noise = 0.005) {
  std::mt19937_64 random(3);
  const auto deviation = [&] { return 1 + noise * (static_cast<double>(random() % 2001) / 1000 - 1); };
  Report report;
  report.virtual_devices = true;
  std::vector<MadeMode> all = {{"single", 1, 1}};
  all.insert(all.end(), modes.begin(), modes.end());
  for (const MadeMode& mode : all) {
    Run run;
    run.model = "mlp", run.mode = run.label = mode.key, run.devices = mode.devices;
    run.batch = 128, run.scaling = "strong";
    std::vector<double> rates;
    for (int i = 0; i < repeats; ++i) {
      run.repeats.push_back(0.02 * (1 + static_cast<double>(i) / repeats) * deviation() / mode.speedup);
      rates.push_back(128 / run.repeats.back());
    }
    run.examples_per_second = compute_confidence_interval(rates);
    run.speedup.n = repeats;
    report.runs.push_back(run);
  }
  const Comparison comparison = compare_modes(report, "mlp", 128);
  for (size_t i = 0; i < comparison.modes.size(); ++i) {
    const size_t at = static_cast<size_t>(comparison.modes[i] - report.runs.data());
    report.runs[at].speedup = comparison.speedups[i];
  }
  return report;
}

std::vector<MadeMode> seventeen_modes(double speedup) {
  std::vector<MadeMode> modes;
  for (int i = 0; i < 17; ++i) modes.push_back({"ddp_" + std::to_string(i), 2, speedup});
  return modes;
}
std::vector<std::string> keys(const std::vector<const Run*>& runs) {
  std::vector<std::string> out;
  for (const Run* run : runs) out.push_back(run->mode);
  return out;
}
using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("one repeat and three repeats give no interval and no verdict", "[compare]") {
  for (const int n : {1, 3}) {
    CAPTURE(n);
    const Report report = make_report(n, {{"dp", 2, 2.72}, {"ddp_gloo", 2, 3.57}}, 0);
    const std::string verdict = verdict_from_runs(report);
    CHECK_THAT(verdict, Contains("There is no verdict for mlp at batch 128: " +
                                 std::string(n == 1 ? "1 repeat is too few." : "3 repeats are too few.")) &&
                            Contains("the intervals of 2 parallel modes, which hold together with a probability of "
                                     "95 %, need 7."));
    CHECK_THAT(verdict, !Contains("use "));
    const std::string none = "n = " + std::to_string(n) + ": no interval";
    CHECK_THAT(format_table(report), Contains("(" + none + ")") && Contains("3.57 (none)"));
    const std::string page = render_html(report);
    CHECK(page.find(none) != std::string::npos);
    CHECK(page.find("There is no verdict") != std::string::npos);
    CHECK(find_turning_points(report).empty());
    // The file says so too: null is no number.
    const TemporaryFolder folder;
    write_report(folder / "a.json", report);
    CHECK(read_file(folder / "a.json").find("\"low\": null") != std::string::npos);
    const Interval again = read_report(folder / "a.json").runs[1].speedup;
    CHECK(!again.is_valid());
    CHECK(again.n == n);
    CHECK(again.needed == 7);
  }
}

TEST_CASE("an interrupted measurement says how many repeats it has and how many it needs", "[compare]") {
  Report report = make_report(4, {{"dp", 2, 3}});
  report.complete = false, report.incomplete_because = "interrupted";
  report.repeats = {{"mlp", 4, 7, 2, "interrupted"}};
  CHECK_THAT(verdict_from_runs(report), Contains("4 repeats are too few") && Contains("until the interruption") &&
                                            Contains("need 7"));  // 6 for a mode alone, 1 more for a second look
  report.runs[1].repeats.clear();                                 // its first sample had not ended
  report.runs[1].speedup = {};
  CHECK_THAT(verdict_from_runs(report), Contains("There is no verdict"));
  CHECK(render_html(report).find("This report is incomplete:") != std::string::npos);
}

TEST_CASE("seventeen modes need ten repeats", "[compare]") {
  CHECK(min_num_repeats(1, 1) == 6);
  // All n ratios lie on one side of the true one with probability 2 / 2^n; 17 times that has to be at most 5 %.
  for (const int modes : {1, 2, 7, 17, 18, 100})
    for (const int looks : {1, 2}) {
      const int n = min_num_repeats(modes, looks);
      CHECK(2 * std::pow(0.5, n) * modes * looks <= 0.05);
      CHECK(2 * std::pow(0.5, n - 1) * modes * looks > 0.05);
    }
  REQUIRE(min_num_repeats(17, 1) == 10);
  CHECK_THAT(verdict_from_runs(make_report(9, seventeen_modes(2))), Contains("9 repeats are too few"));
  const Report report = make_report(10, seventeen_modes(2));
  const Comparison comparison = compare_modes(report, "mlp", 128);
  CHECK(comparison.recommended.size() == 17);
  CHECK_THAT(verdict_from_runs(report),
             Contains("use ddp_0 on 2 virtual devices for mlp at batch 128: it trains 2.0") &&
                 Contains("It is the simplest of 17 modes that may be the best") && Contains("and 13 others") &&
                 Contains("This is from 10 repeats"));
}

TEST_CASE("modes that take exactly as long are all among the best, and the simplest is named", "[compare]") {
  const std::vector<MadeMode> equal = {{"ddp_local", 2, 1}, {"dp", 4, 1}, {"dp", 2, 1}};
  const Report none = make_report(12, equal, 0);
  const Comparison comparison = compare_modes(none, "mlp", 128);
  CHECK(keys(comparison.tied_with_best) == Keys{"single", "dp", "dp", "ddp_local"});
  CHECK(comparison.tied_with_best[1]->devices == 2);
  CHECK(comparison.recommended.empty());
  CHECK(comparison.is_conclusive());
  CHECK_THAT(verdict_from_runs(none), Contains("use one device with all the cores for mlp at batch 128: no parallel "
                                               "mode is more than 3 % faster"));
  const Report faster = make_report(12, {{"ddp_local", 2, 1.5}, {"dp", 2, 1.5}, {"ddp_gloo", 2, 1.1}}, 0);
  CHECK(keys(compare_modes(faster, "mlp", 128).recommended) == Keys{"dp", "ddp_local"});
  CHECK_THAT(verdict_from_runs(faster), Contains("use dp on 2 virtual devices") && Contains("simplest of 2 modes"));
}

TEST_CASE("a difference of 1 or 2 % is not called one, however certain it is", "[compare]") {
  for (const double speedup : {1.01, 1.02}) {
    CAPTURE(speedup);
    const Report report = make_report(40, {{"dp", 2, speedup}}, 0.001);
    const Comparison comparison = compare_modes(report, "mlp", 128);
    CHECK(comparison.speedups[0].low > 1);  // it is certain that dp is faster
    CHECK(keys(comparison.tied_with_best) == Keys{"single", "dp"});
    CHECK(comparison.recommended.empty());
    CHECK_THAT(verdict_from_runs(report), Contains("use one device") && Contains("no parallel mode is more than 3 %"));
    // Between two modes that are both faster than one device, the simpler one is named.
    const Report two = make_report(40, {{"ddp_local", 2, 1.3 * speedup}, {"dp", 2, 1.3}}, 0.001);
    CHECK_THAT(verdict_from_runs(two), Contains("use dp on 2 virtual devices") &&
                                           Contains("The best median has ddp_local on 2 virtual devices"));
  }
  const Report clear = make_report(40, {{"dp", 2, 1.05}}, 0.001);
  CHECK(keys(compare_modes(clear, "mlp", 128).tied_with_best) == Keys{"dp"});
  CHECK_THAT(verdict_from_runs(clear), Contains("use dp on 2 virtual devices") && !Contains("simplest"));
  // Between 3 and 4 % with noise: neither is certain, so one device stays.
  const Report unclear = make_report(12, {{"dp", 2, 1.035}}, 0.02);
  CHECK(!compare_modes(unclear, "mlp", 128).is_conclusive());
  CHECK_THAT(verdict_from_runs(unclear),
             Contains("use one device with all the cores for mlp at batch 128, the simplest "
                      "of 2 that may be the best: no parallel mode is certainly more"));
}

TEST_CASE("modes that failed or were stopped do not take part", "[compare]") {
  Report report = make_report(12, {{"dp", 2, 1.5}, {"ddp_local", 2, 2}});
  report.runs[2].failed = "rank 1: out of memory";
  CHECK(keys(compare_modes(report, "mlp", 128).recommended) == Keys{"dp"});
  report.runs[1].failed = "no more";
  CHECK_THAT(verdict_from_runs(report),
             Contains("There is no verdict for mlp at batch 128: no parallel mode has figures."));
  CHECK(render_html(report).find("There is no verdict") != std::string::npos);
  report.runs[0].failed = "nor this";
  CHECK_THAT(verdict_from_runs(report), Contains("There is no verdict for mlp"));
  CHECK_THAT(format_table(report), Contains("failed: nor this"));
  // Only repeats that all modes completed are compared.
  Report partial = make_report(12, {{"dp", 2, 1.5}, {"ddp_local", 2, 2}});
  partial.runs[2].repeats.pop_back();
  CHECK(compare_modes(partial, "mlp", 128).n == 11);
  partial.runs[1].repeats[5] = 0;  // no time
  CHECK(keys(compare_modes(partial, "mlp", 128).modes) == Keys{"ddp_local"});
}

TEST_CASE("a verdict says where it holds, and in the same sentence where it does not", "[compare]") {
  Report report = make_report(12, {{"ddp_gloo", 2, 2}, {"dp", 2, 1.5}});
  const auto sentence = [&](const std::string& from, const std::string& measured_on) {
    report.measured_on = measured_on;
    const std::string verdict = verdict_from_runs(report);
    const size_t at = verdict.find(from);
    return at == std::string::npos ? verdict : verdict.substr(at, verdict.find(". ", at) - at);
  };
  CHECK_THAT(sentence("On this", "cpu"), Contains("On this machine's CPU, use ddp_gloo on 2 processes for mlp") &&
                                             Contains("so this says nothing about GPUs"));
  CHECK_THAT(sentence("On these", "gpus"),
             Contains("On these GPUs, use ddp_gloo on 2 processes for mlp") && !Contains("nothing"));
  CHECK_THAT(sentence("With all", "shared gpu"),
             Contains("no mode is recommended") && Contains("says nothing about several GPUs") && !Contains("use "));
  CHECK_THAT(sentence("On GPUs", "emulated gpus"),
             Contains("no mode is recommended") && Contains("says nothing about real GPUs") && !Contains("use "));
  report.measured_on = "tpu";
  CHECK_THROWS_WITH(render_html(report), Contains("measured_on is 'tpu'; accepted: cpu, gpus"));
}

TEST_CASE("times that do not divide to the speedup beside them are explained", "[compare]") {
  Report report = make_report(12, {{"dp", 2, 1.2}}, 0);
  CHECK(describe_unpaired_times(report) == "");
  // The machine was slow in 7 repeats of one device and in 5 others of dp, as with a neighbour that comes and goes.
  Run &single = report.runs[0], &dp = report.runs[1];
  single.examples_per_second.median = 128 / 0.0471, dp.examples_per_second.median = 128 / 0.0445;
  const std::string text = describe_unpaired_times(report);
  CHECK_THAT(text, Contains("a step takes 44.5 ms with dp on 2 virtual devices (mlp) and 47.1 ms on one device, but "
                            "the speedup is 1.20") &&
                       Contains("within each repeat"));
  CHECK_THAT(format_table(report), Contains("Times and speedups of 1 run seem to contradict each other"));
  CHECK(render_html(report).find("44.5 ms with dp") != std::string::npos);
}

TEST_CASE("the order of modes is shuffled anew in every repeat, and follows the seed", "[compare]") {
  constexpr size_t kModes = 5;
  std::vector<std::vector<int>> times(kModes, std::vector<int>(kModes));  // by mode and place
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const std::vector<size_t> order = shuffled_order(kModes, 7, repeat);
    CHECK(order == shuffled_order(kModes, 7, repeat));
    for (size_t place = 0; place < kModes; ++place) ++times[order[place]][place];
  }
  // Each count has mean 200 and standard deviation 12.6; five of these.
  for (const auto& places : times)
    for (const int count : places) CHECK(std::abs(count - 200) < 64);
  CHECK(shuffled_order(20, 7, 0) != shuffled_order(20, 8, 0));
}

TEST_CASE("without a repeat of one device there are no speedups and no verdict", "[compare]") {
  // As after Ctrl-C in the first repeat, in whose shuffled order a parallel mode came first.
  Report report = make_report(1, {{"dp", 2, 1.5}});
  for (const bool listed : {true, false}) {
    CAPTURE(listed);
    report.runs[0].repeats.clear();
    if (!listed) report.runs.erase(report.runs.begin());
    std::vector<const Run*> runs;
    for (const Run& run : report.runs) runs.push_back(&run);
    const Comparison comparison = compare_modes(runs, 1);
    CHECK_FALSE(comparison.has_intervals());
    CHECK_FALSE(comparison.is_conclusive());
    for (const Run* run : runs) CHECK_FALSE(comparison.speedup(run).is_valid());
    CHECK_THAT(verdict_from_runs(report), !Contains("use dp"));
  }
}
