// Tests `tandem bench`: its tables, its runner on fake programs, peers that are shell scripts, and its files.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tandem/benchmarks/report.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::benchmarks;
using test::TemporaryFolder;

namespace {

/// A fake program with scripted results that records the requests it got.
class ScriptedProgram final : public Program {
 public:
  ScriptedProgram(std::string name, std::vector<std::string>& log, std::string unknown = "")
      : name_(std::move(name)), log_(log), unknown_(std::move(unknown)) {}
  const std::string& name() const override { return name_; }
  std::string version() const override { return "1"; }
  std::optional<double> prepare(const Case& c) override {
    if (c.benchmark->name == unknown_) return {};
    return 0.25;
  }
  double measure_seconds_per_call(const Case& c, int64_t iterations) override {
    log_.push_back(name_ + " " + c.key() + " " + std::to_string(iterations));
    return static_cast<double>(log_.size());
  }

 private:
  std::string name_;
  std::vector<std::string>& log_;
  std::string unknown_;
};

const std::vector<Benchmark>& two_benchmarks() {
  static const std::vector<Benchmark> table = {
      {.name = "a/forward", .cases = {{{2, 3}, {4}}}, .prepare = [](const Shapes&) -> Run { return [] {}; }},
      {.name = "b/forward", .cases = {{{}}}, .prepare = [](const Shapes&) -> Run { return [] {}; }}};
  return table;
}

PeerProgram::Command shell(const std::string& script) {
  return {.name = "peer", .arguments = {"sh", "-c", script}, .environment = {"TANDEM_TEST_ANSWER=0.5"}};
}
const char* const kGoodPeer =
    "while read -r verb rest; do case \"$verb $rest\" in version*) echo 'version 1.2';; *b/forward*) echo unknown;; "
    "prepare*) echo 0.01;; time*) echo $TANDEM_TEST_ANSWER;; esac; done";

std::vector<CaseResult> run_with_peer(const std::string& script, std::vector<std::unique_ptr<Program>>& programs) {
  programs.push_back(std::make_unique<TandemProgram>());
  programs.push_back(std::make_unique<PeerProgram>(shell(script)));
  Settings settings;
  settings.repeats = 2;
  settings.seconds = 1e-4;
  return run_cases(find_cases(two_benchmarks(), ""), programs, settings, [](double) {});
}

}  // namespace

TEST_CASE("percentiles interpolate between neighbouring samples", "[bench]") {
  CHECK(percentile({3, 1, 2}, 0.5) == 2);
  CHECK(percentile({4, 1, 2, 3}, 0.5) == 2.5);
  CHECK(percentile({10, 0}, 0.1) == Approx(1));
  CHECK(percentile({7}, 0.9) == 7);
}

TEST_CASE("every benchmark has a name of its own, and its smallest case runs", "[bench]") {
  std::set<std::string> names;
  const std::vector<Benchmark> all = all_benchmarks();
  for (const Benchmark& b : all) {
    INFO(b.name);
    CHECK(names.insert(b.name).second);
    CHECK(b.name.find('/') != std::string::npos);
    REQUIRE(!b.cases.empty());
    for (const Shapes& s : b.cases) {
      if (b.bytes) CHECK(b.bytes(s) > 0);
      if (b.flops) CHECK(b.flops(s) > 0);
    }
    REQUIRE_NOTHROW(b.prepare(b.cases[0])());
  }
}

TEST_CASE("a filter selects by parts of names, and one that selects nothing is an error", "[bench]") {
  CHECK(find_cases(two_benchmarks(), "").size() == 2);
  CHECK(find_cases(two_benchmarks(), "b/").size() == 1);
  CHECK(find_cases(two_benchmarks(), "b/,a/").size() == 2);
  REQUIRE_THROWS_WITH(find_cases(two_benchmarks(), "nothing"), Contains("no benchmark's name contains 'nothing'"));
}

TEST_CASE("cases can be named with shapes of one's own", "[bench]") {
  const std::vector<Case> cases =
      find_cases(two_benchmarks(), std::vector<std::string>{"b/forward 7", "a/forward 2x3,5"});
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].key() == "b/forward 7");
  CHECK(cases[1].shapes == Shapes{{2, 3}, {5}});
  for (const char* bad : {"c/forward 7", "a/forward", "a/forward 2xy", "a/forward 0"})
    CHECK_THROWS_WITH(find_cases(two_benchmarks(), std::vector<std::string>{bad}), Contains("bench: '"));
}

TEST_CASE("samples are taken of every case on every program in turn", "[bench]") {
  std::vector<std::string> log;
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(std::make_unique<ScriptedProgram>("p", log));
  programs.push_back(std::make_unique<ScriptedProgram>("q", log, /*unknown=*/"b/forward"));
  Settings settings;
  settings.repeats = 2;
  settings.seconds = 1;
  double progress = 0;
  const auto rows =
      run_cases(find_cases(two_benchmarks(), ""), programs, settings, [&](double part) { progress = part; });
  CHECK(log == std::vector<std::string>{"p a/forward 2x3,4 4", "q a/forward 2x3,4 4", "p b/forward 1 4",
                                        "q a/forward 2x3,4 4", "p a/forward 2x3,4 4", "p b/forward 1 4"});
  CHECK(progress == 1);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].samples_by_program[1].seconds == std::vector<double>{2, 4});
  CHECK(rows[1].samples_by_program.size() == 1);
}

TEST_CASE("a peer is a process that is asked line by line", "[bench]") {
  std::vector<std::unique_ptr<Program>> programs;
  const auto rows = run_with_peer(kGoodPeer, programs);
  CHECK(programs[1]->version() == "1.2");
  REQUIRE(rows[0].samples_by_program.size() == 2);
  CHECK(rows[0].samples_by_program[1].seconds == std::vector<double>{0.5, 0.5});
  CHECK(rows[1].samples_by_program.size() == 1);  // the second program reported that it lacks this case
  CHECK_THAT(results_table(rows), Contains("a/forward  2x3,4") && Contains("500 ms"));
}

TEST_CASE("a peer does what a Graph replays as it comes", "[bench]") {
  const Benchmark captured{.name = "mlp/captured_train_step", .cases = {}, .prepare = {}},
      eager{.name = "mlp/train_step", .cases = {}, .prepare = {}};
  CHECK(Case{&captured, {{64, 784}}}.peer_key() == "mlp/train_step 64x784");
  CHECK(Case{&eager, {{64, 784}}}.peer_key() == "mlp/train_step 64x784");
}

TEST_CASE("a tuned peer on a GPU is told so, and the others are not", "[bench]") {
  const auto told = [](const std::string& peer, const std::string& word) {
    const std::vector<std::string> all = peer_command(peer, 2, "cuda", "high").arguments;
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  if (!std::getenv("TANDEM_PEERS_PYTHON")) setenv("TANDEM_PEERS_PYTHON", "python3", 1);
  CHECK(told("pytorch-graphs-tuned", "graphs"));
  CHECK(told("pytorch-graphs-tuned", "--tuned"));
  CHECK(told("pytorch-compiled-tuned", "compiled"));
  CHECK(told("pytorch-compiled-tuned", "--tuned"));
  for (const char* plain : {"pytorch", "pytorch-graphs", "pytorch-compiled"}) CHECK_FALSE(told(plain, "--tuned"));
  CHECK_FALSE(told("pytorch-graphs-tuned", "--channels-last"));  // channels_last is a setting of the CPU peer only
  REQUIRE_THROWS_WITH(peer_command("pytorch-tuned", 2, "cuda"), Contains("'pytorch-tuned' is not a peer"));
}

TEST_CASE("a peer that misbehaves is an error that names it", "[bench]") {
  const Case c = find_cases(two_benchmarks(), "a/")[0];
  REQUIRE_THROWS_WITH(PeerProgram({.name = "peer", .arguments = {"/nonexistent/peer"}, .environment = {}}),
                      Contains("peer") && Contains("/nonexistent/peer"));
  REQUIRE_THROWS_WITH(PeerProgram(shell("exit 3")), Contains("the peer peer ended when asked 'version'"));
  REQUIRE_THROWS_WITH(PeerProgram(shell("read -r line; echo hello; read -r line")),
                      Contains("answered 'version' with 'hello'"));
  REQUIRE_THROWS_WITH(PeerProgram(shell("exec sleep 60"), 0.05), Contains("did not answer 'version' within 0.05 s"));
  PeerProgram ends(shell("read -r line; echo version 1; read -r line"));
  REQUIRE_THROWS_WITH(ends.prepare(c), Contains("ended when asked 'prepare a/forward 2x3,4'"));
  PeerProgram babbles(shell("read -r line; echo version 1; while read -r line; do echo error: no memory; done"));
  REQUIRE_THROWS_WITH(babbles.prepare(c), Contains("with 'error: no memory'"));
  REQUIRE_THROWS_WITH(peer_command("tensorflow", 2), Contains("'tensorflow' is not a peer; accepted: pytorch, "));
}

TEST_CASE("what was measured can be read back, and becomes a Markdown table", "[bench]") {
  const TemporaryFolder folder;
  const std::string path = folder / "results/run.json";
  std::vector<std::unique_ptr<Program>> programs;
  const auto rows = run_with_peer(kGoodPeer, programs);
  write_json(path, rows, programs, Settings(), {"tandem", "bench"});
  const auto json = nlohmann::json::parse(test::read_file(path));
  CHECK(json["programs"][1]["version"] == "1.2");
  CHECK(json["machine"]["cores"] >= 1);
  CHECK(json["command"] == nlohmann::json({"tandem", "bench"}));
  CHECK(json["benchmarks"].size() == 2);
  CHECK(json["benchmarks"][0]["shapes"] == "2x3,4");
  CHECK(json["benchmarks"][0]["results"]["peer"]["samples_ms"] == nlohmann::json({500.0, 500.0}));
  CHECK(json["benchmarks"][0]["results"]["tandem"]["p10_ms"] <= json["benchmarks"][0]["results"]["tandem"]["p90_ms"]);
  CHECK(folder.count() == 1);

  const std::string text = markdown_table(path, "a/,nothing");
  CHECK_THAT(text, Contains("| benchmark | tandem | peer | best peer / tandem |") && Contains("| a/forward 2x3,4 |"));
  CHECK_THAT(text, !Contains("b/forward"));  // no peer has this case
  test::write_file(folder / "other.json", "[1, 2]");
  REQUIRE_THROWS_WITH(markdown_table(folder / "other.json", ""),
                      Contains("is not a file that `tandem bench --json` wrote"));
  REQUIRE_THROWS_WITH(markdown_table(folder / "missing.json", ""), Contains("cannot read"));
}

TEST_CASE("rows are held against what the machine does at best", "[bench]") {
  const Benchmark copies{.name = "copies/forward", .cases = {}, .bytes = read_write_bytes, .prepare = {}},
      reads{.name = "reads/forward", .cases = {}, .bytes = read_one_bytes, .prepare = {}},
      matmul_flops{
          .name = "products/forward", .cases = {}, .flops = [](const Shapes&s) { return numel(s[0]); }, .prepare = {}},
      neither{.name = "neither/forward", .cases = {}, .prepare = {}};
  MachineLimits limits;
  const auto fewest = [&](const Benchmark& b) { return limits.min_seconds({&b, {{1 << 16}}}); };
  const double copy = limits.bandwidth(MachineLimits::MemoryTraffic::copy, 1 << 19);
  CHECK(copy > 0);
  // The limit is measured once and then reused.
  CHECK(copy == limits.bandwidth(MachineLimits::MemoryTraffic::copy, (1 << 19) + 1));
  CHECK(fewest(copies) == Approx((1 << 19) / copy));
  CHECK(fewest(reads) == Approx((1 << 18) / limits.bandwidth(MachineLimits::MemoryTraffic::read, 1 << 18)));
  CHECK(fewest(matmul_flops) == Approx((1 << 16) / limits.matmul_flops(kFloat32)));
  CHECK(fewest(neither) == 0);

  // A row that takes twice its minimum time.
  const CaseResult row{.c = {&copies, {{1 << 16}}}, .samples_by_program = {{"tandem", 1, {2 * fewest(copies)}}}};
  CHECK_THAT(results_table({row}, &limits),
             Contains("of limit") && Contains(" 50 %") && Contains("GB/s in copies of 512 MiB"));
  CHECK_THAT(results_table({row}), !Contains("of limit"));
  const TemporaryFolder folder;
  write_json(folder / "run.json", {row}, {}, Settings(), {}, &limits);
  const auto json = nlohmann::json::parse(test::read_file(folder / "run.json"));
  CHECK(json["benchmarks"][0]["results"]["tandem"]["share_of_limit"] == Approx(0.5));
  CHECK(json["machine"]["limits"]["products_gflop_per_s"] > 0);
}

namespace {

/// Creates a build folder whose program is a script. `sample` is the shell code that prints the JSON of a sample.
std::string scripted_build(const TemporaryFolder& folder, const std::string& list, const std::string& sample) {
  const std::filesystem::path tools = std::filesystem::path(folder / "build") / "tools";
  std::filesystem::create_directories(tools);
  const std::string program = tools / "tandem";
  test::write_file(program, "#!/bin/sh\n[ \"$2\" = --list ] && { " + list +
                                "; exit; }\nwhile [ $# -gt 1 ]; do\n  [ \"$1\" = --json ] && file=$2\n"
                                "  [ \"$1\" = --case ] && asked=$2\n  shift\ndone\n" +
                                sample + "\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return folder / "build";
}
const char* const kList = "echo a/forward; echo b/forward";
const char* const kSample =
    R"(echo "{\"programs\": [{\"version\": \"1.0\"}], \"build\": {\"commit\": \"abc\"}, \"benchmarks\":
       [{\"name\": \"$asked\", \"results\": {\"tandem\": {\"median_ms\": 250}}}]}" > "$file")";

/// A row as if both builds had been timed, with 1 s in every round for this build.
CaseResult timed_row(const Benchmark& benchmark, const std::vector<double>& baseline) {
  return {.c = {&benchmark, {{4}}},
          .samples_by_program = {{"tandem", 1, std::vector<double>(baseline.size(), 1.0)}, {"baseline", 1, baseline}}};
}

}  // namespace

TEST_CASE("the interval of a median reaches between the ranks that the binomial distribution says", "[bench]") {
  // Largest k for which P(fewer than k of n coin tosses are heads) <= 2.5 %: k = 1 for n = 6 (1/64 = 1.6 %) to 8, 2 for
  // 9 (10/512 = 2.0 %), 6 for 20 (2.1 %), 40 for 100 (1.8 %).
  const std::vector<std::pair<int, int>> ranks = {{6, 1},  {7, 1},  {8, 1},  {9, 2},  {10, 2},   {11, 2},    {12, 3},
                                                  {13, 3}, {14, 3}, {15, 4}, {20, 6}, {100, 40}, {2000, 956}};
  for (const auto& [n, k] : ranks) {
    std::vector<double> values;
    for (int i = n; i >= 1; --i) values.push_back(i);
    const Comparison c = median_confidence_interval(values);
    CAPTURE(n);
    CHECK(c.low == k);
    CHECK(c.high == n + 1 - k);
    CHECK(c.ratio == (n + 1) / 2.0);
  }
  REQUIRE_THROWS_WITH(median_confidence_interval({1, 1, 1, 1, 1}),
                      Contains("5 rounds are too few for a confidence interval; accepted: 6 or more"));
}

TEST_CASE("the interval holds the true median in 95 of 100 experiments, however the noise is distributed", "[bench]") {
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, 1);  // with median 1
  int held = 0;
  constexpr int kExperiments = 4000;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> ratios(9);
    for (double& ratio : ratios) ratio = noise(random);
    const Comparison c = median_confidence_interval(ratios);
    held += c.low <= 1 && 1 <= c.high;
  }
  // Expected: 96.1 % of the experiments, with a standard deviation of 0.3 %.
  CHECK(held > 0.95 * kExperiments);
  CHECK(held < 0.972 * kExperiments);
}

TEST_CASE("a row is slower when its whole interval lies below 0.95", "[bench]") {
  const std::vector<Benchmark>& table = two_benchmarks();
  // The end of the interval is the second largest of nine ratios: 0.949 here, 0.951 below.
  const std::vector<double> below = {0.9, 0.8, 0.949, 2.0, 0.9, 0.9, 0.9, 0.9, 0.9};
  std::vector<double> reaches = below;
  reaches[2] = 0.951;
  const std::vector<CaseResult> rows = {
      timed_row(table[0], below),
      timed_row(table[1], reaches),
      {.c = {&table[1], {{5}}}, .samples_by_program = {{"tandem", 1, std::vector<double>(9, 1.0)}}}};
  REQUIRE(compare_with_baseline(rows[0])->is_slower());
  REQUIRE_FALSE(compare_with_baseline(rows[1])->is_slower());
  REQUIRE_FALSE(compare_with_baseline(rows[2]).has_value());  // the baseline lacks this case
  const std::string text = baseline_table(rows);
  CHECK_THAT(text, Contains("a/forward  4    1000 ms    900 ms  0.900  0.900 to 0.949  slower"));
  CHECK_THAT(text, Contains("b/forward  4    1000 ms    900 ms  0.900  0.900 to 0.951\n"));
  CHECK_THAT(text, Contains("b/forward  5    1000 ms\n"));
  CHECK_FALSE(is_overhead_benchmark(rows[0]));
  const Benchmark call{.name = "add/overhead_grad", .cases = {}, .prepare = {}};
  CHECK(is_overhead_benchmark(timed_row(call, below)));
}

TEST_CASE("the geometric mean is taken over the rows in each round", "[bench]") {
  const std::vector<Benchmark>& table = two_benchmarks();
  const std::vector<CaseResult> rows = {timed_row(table[0], {1, 2, 4, 8, 16, 32}),
                                        timed_row(table[1], {4, 8, 16, 32, 64, 128})};
  const std::optional<Comparison> mean = compare_with_baseline(rows);  // per round: 2, 4, 8, 16, 32, 64
  REQUIRE(mean.has_value());
  CHECK(mean->ratio == Approx(12));
  CHECK(mean->low == Approx(2));
  CHECK(mean->high == Approx(64));
  CHECK_FALSE(compare_with_baseline(std::vector<CaseResult>()).has_value());
}

TEST_CASE("a build is asked for each sample by a process of its own", "[bench]") {
  const TemporaryFolder folder;
  const std::string build = scripted_build(folder, kList, kSample);
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(
      std::make_unique<BuildProgram>("tandem", build + "/tools/tandem", 0.1, std::vector<std::string>()));
  programs.push_back(
      std::make_unique<BuildProgram>("baseline", build, 0.1, std::vector<std::string>{"--threads", "1"}));
  Settings settings;
  settings.repeats = 6;
  settings.baseline = build;
  const auto rows = run_cases(find_cases(two_benchmarks(), ""), programs, settings, [](double) {});
  REQUIRE(rows[0].samples_by_program.size() == 2);
  CHECK(rows[0].samples_by_program[1].seconds == std::vector<double>(6, 0.25));
  CHECK(programs[1]->version() == "1.0 of commit abc");
  const std::string path = folder / "run.json";
  write_json(path, rows, programs, settings, {"tandem", "bench"});
  const auto json = nlohmann::json::parse(test::read_file(path));
  CHECK(json["baseline"]["geometric_mean"]["ratio"] == 1.0);
  CHECK(json["benchmarks"][1]["baseline"] ==
        nlohmann::json({{"ratio", 1}, {"low", 1}, {"high", 1}, {"slower", false}}));
  CHECK(json["benchmarks"][1]["results"]["baseline"]["samples_ms"].size() == 6);
}

TEST_CASE("what is no build with benchmarks is refused, and one that fails is named", "[bench]") {
  const TemporaryFolder folder;
  const Case c = find_cases(two_benchmarks(), "a/")[0];
  const auto error_of = [](const std::string& build) {
    try {
      BuildProgram("baseline", build, 0.1, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(error_of(folder / "nowhere"), Contains("nowhere is not a build of Tandem; accepted: a build folder"));
  CHECK_THAT(error_of(folder / ""), Contains("is not a build of Tandem"));
  CHECK_THAT(error_of(scripted_build(folder, "echo 'no such command'; exit 106", "")),
             Contains("is not a Tandem built with benchmarks") && Contains("status 106 and printed 'no such command'"));
  CHECK_THAT(error_of(scripted_build(folder, "true", "")), Contains("status 0 and printed ''"));
  BuildProgram lacks("baseline", scripted_build(folder, "echo b/forward", kSample), 0.1, {});
  CHECK_FALSE(lacks.prepare(c).has_value());
  BuildProgram fails("baseline", scripted_build(folder, kList, "echo no memory; exit 3"), 0.1, {});
  REQUIRE_THROWS_WITH(fails.prepare(c), Contains("did not time 'a/forward 2x3,4'") && Contains("status 3") &&
                                            Contains("and printed 'no memory"));
}

TEST_CASE("a result file that cannot be written is an error and leaves nothing behind", "[bench]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "taken");
  test::write_file(folder / "taken/inside", "");
  std::vector<std::unique_ptr<Program>> programs;
  const auto rows = run_with_peer(kGoodPeer, programs);
  REQUIRE_THROWS_WITH(write_json(folder / "taken", rows, programs, Settings(), {}), Contains("cannot write"));
  CHECK(folder.count() == 1);
}
