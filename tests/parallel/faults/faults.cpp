// Kills and stops random ranks, and checks how the other ranks end: `./run faults`. Each trial is determined by the
// seed and its number. trial.h lists the checks. `--others N` runs N trials with other faults (misc_faults.h).
// usage: faults [--kills N] [--others N] [--seed S] [--timeout MS] [--bound MS] [--garbage N] [--only NUMBER]
// With --max-restarts M, the ranks belong to jobs that are restarted up to M times each (restarts.h); with --trainer 1,
// the Trainer trains these jobs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tandem/tests/parallel/faults/misc_faults.h"
#include "tandem/tests/parallel/faults/restarts.h"
#include "tandem/tests/parallel/faults/trial.h"

using namespace tandem::test;
using std::chrono::milliseconds;

namespace {

struct Row {
  int trials = 0, survivors = 0, at_timeout = 0, violations = 0;
  std::vector<int64_t> latencies = {};
};
void print_row(const std::string& name, Row row) {
  std::sort(row.latencies.begin(), row.latencies.end());
  const size_t n = row.latencies.size();
  std::printf("%-40s %7d %10d %11lld %10lld %10d %11d\n", name.c_str(), row.trials, row.survivors,
              static_cast<long long>(n > 0 ? row.latencies[n / 2] : 0),
              static_cast<long long>(n > 0 ? row.latencies[n - 1] : 0), row.at_timeout, row.violations);
}

/// Runs jobs until `kills` ranks were killed. Returns the number of violations.
int kill_and_restart(int64_t kills, uint64_t seed, int max_restarts, bool trainer, int64_t only) {
  RestartResult all;
  int64_t jobs = 0;
  for (int64_t number = std::max<int64_t>(only, 0); all.kills < kills; ++number) {
    const RestartTrial trial = RestartTrial::from_seed(seed, number, max_restarts, trainer);
    const RestartResult result = run_restarts(trial, max_restarts);
    for (const std::string& text : result.violations) {
      std::printf("VIOLATION in trial %lld (%s): %s\n", static_cast<long long>(number), trial.str().c_str(),
                  text.c_str());
      std::fflush(stdout);
      all.violations.push_back(text);
    }
    all.kills += result.kills, all.restarts += result.restarts, all.resumed += result.resumed;
    ++jobs;
    if (only >= 0) break;
  }
  std::printf(
      "%lld jobs under tandem launch --max-restarts %d: %d ranks killed, %d restarts, %d of them from a checkpoint\n"
      "(the others were struck before the first); each job's parameters are compared with those of one without "
      "faults\n%zu violations\n",
      static_cast<long long>(jobs), max_restarts, all.kills, all.restarts, all.resumed, all.violations.size());
  return static_cast<int>(all.violations.size());
}

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, int64_t> options = {{"--kills", 200},      {"--others", 36},  {"--seed", 1},
                                            {"--timeout", 2000},   {"--bound", 1000}, {"--garbage", 1000},
                                            {"--max-restarts", 0}, {"--only", -1},    {"--trainer", 0}};
  for (int i = 1; i < argc; i += 2) {
    if (options.count(argv[i]) == 0 || i + 1 == argc) {
      const bool is_help = std::string(argv[i]) == "--help";
      std::fprintf(
          is_help ? stdout : stderr,
          "usage: faults [--kills N (200)] [--others N (36)] [--seed S (1)] [--timeout MS (2000)] [--bound MS (1000)] "
          "[--garbage N (1000)] [--only NUMBER (all)] [--max-restarts M (0) [--trainer 1]]\n");
      return is_help ? 0 : 2;
    }
    options[argv[i]] = std::atoll(argv[i + 1]);
  }
  if (options["--max-restarts"] > 0)
    return kill_and_restart(options["--kills"], static_cast<uint64_t>(options["--seed"]),
                            static_cast<int>(options["--max-restarts"]), options["--trainer"] != 0,
                            options["--only"]) == 0
               ? 0
               : 1;
  const milliseconds timeout(options["--timeout"]);
  std::map<std::string, Row> rows;
  int violations = 0;
  const auto report = [&](const std::string& name, const std::vector<std::string>& wrong) {
    for (const std::string& text : wrong) std::printf("VIOLATION in %s: %s\n", name.c_str(), text.c_str());
    std::fflush(stdout);
    violations += static_cast<int>(wrong.size());
  };
  const auto count = [&](const std::string& name, int survivors, const FaultResult& result) {
    Row& row = rows[name];
    ++row.trials;
    row.survivors += survivors;
    row.at_timeout += result.at_timeout;
    row.violations += static_cast<int>(result.violations.size());
    for (const milliseconds latency : result.latencies) row.latencies.push_back(latency.count());
  };
  const auto is_wanted = [&](int64_t number) { return options["--only"] < 0 || number == options["--only"]; };
  for (int64_t number = 0; number < options["--kills"]; ++number) {
    if (!is_wanted(number)) continue;
    const FaultTrial trial = FaultTrial::from_seed(static_cast<uint64_t>(options["--seed"]), number, timeout,
                                                   milliseconds(options["--bound"]));
    const FaultResult result = run_trial(trial);
    count(trial.kind(), trial.ranks - 1, result);
    report("trial " + std::to_string(number) + " (" + trial.str() + ")", result.violations);
  }
  for (int64_t number = 0; number < options["--others"]; ++number) {
    if (!is_wanted(number)) continue;
    const MiscFaultTrial trial = MiscFaultTrial::from_seed(static_cast<uint64_t>(options["--seed"]), number, timeout,
                                                           milliseconds(options["--bound"]));
    const FaultResult result = run_misc_fault(trial);
    count(trial.name(), static_cast<int>(result.latencies.size()), result);
    report("other trial " + std::to_string(number) + " (" + trial.str() + ")", result.violations);
  }
  std::printf("%-40s %7s %10s %11s %10s %10s %11s\n", "fault", "trials", "survivors", "median ms", "worst ms",
              "at timeout", "violations");
  for (const auto& [name, row] : rows) print_row(name, row);
  for (const bool launcher : {false, true}) {
    if (options["--garbage"] == 0) break;
    const GarbageResult result = run_garbage(static_cast<int>(options["--garbage"]), launcher);
    std::printf("%lld garbage connections, %s: %lld KiB more memory\n", static_cast<long long>(options["--garbage"]),
                launcher ? "tandem launch" : "no launcher", static_cast<long long>(result.rss_growth_kib));
    report("garbage connections", result.violations);
  }
  std::printf(
      "(ms from the fault to a survivor's end; of stops, and of links between ranks, the timeout of %lld ms is part\n"
      " of it. Launchers that are stopped or cut off are lost after 1000 ms, and give their ranks 2000 ms. At timeout: "
      "the\n"
      " rank was struck before it or a survivor had reached the store, and nobody had started them in common)\n",
      static_cast<long long>(timeout.count()));
  std::printf("%d violations\n", violations);
  return violations == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "faults: %s\n", error.what());
  return 2;
}
