// `tandem bench`: its tables, its runner on programs made for the purpose, peers as shell scripts, and its files.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tandem/benchmarks/report.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::benchmarks;
using test::TemporaryFolder;

namespace {

/// Says what a script tells it to, and notes what it was asked.
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
  double time(const Case& c, int64_t iterations) override {
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

std::vector<Row> run_with_peer(const std::string& script, std::vector<std::unique_ptr<Program>>& programs) {
  programs.push_back(std::make_unique<OwnProgram>());
  programs.push_back(std::make_unique<PeerProgram>(shell(script)));
  Settings settings;
  settings.repeats = 2;
  settings.seconds = 1e-4;
  return run(select(two_benchmarks(), ""), programs, settings, [](double) {});
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
  CHECK(select(two_benchmarks(), "").size() == 2);
  CHECK(select(two_benchmarks(), "b/").size() == 1);
  CHECK(select(two_benchmarks(), "b/,a/").size() == 2);
  REQUIRE_THROWS_WITH(select(two_benchmarks(), "nothing"), Contains("no benchmark's name contains 'nothing'"));
}

TEST_CASE("cases can be named with shapes of one's own", "[bench]") {
  const std::vector<Case> cases = select(two_benchmarks(), std::vector<std::string>{"b/forward 7", "a/forward 2x3,5"});
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].key() == "b/forward 7");
  CHECK(cases[1].shapes == Shapes{{2, 3}, {5}});
  for (const char* bad : {"c/forward 7", "a/forward", "a/forward 2xy", "a/forward 0"})
    CHECK_THROWS_WITH(select(two_benchmarks(), std::vector<std::string>{bad}), Contains("bench: '"));
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
  const auto rows = run(select(two_benchmarks(), ""), programs, settings, [&](double part) { progress = part; });
  const std::vector<std::string> round = {"p a/forward 2x3,4 4", "q a/forward 2x3,4 4", "p b/forward 1 4"};
  std::vector<std::string> twice = round;
  twice.insert(twice.end(), round.begin(), round.end());
  CHECK(log == twice);
  CHECK(progress == 1);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].programs[1].seconds == std::vector<double>{2, 5});
  CHECK(rows[1].programs.size() == 1);
}

TEST_CASE("a peer is a process that is asked line by line", "[bench]") {
  std::vector<std::unique_ptr<Program>> programs;
  const auto rows = run_with_peer(kGoodPeer, programs);
  CHECK(programs[1]->version() == "1.2");
  REQUIRE(rows[0].programs.size() == 2);
  CHECK(rows[0].programs[1].seconds == std::vector<double>{0.5, 0.5});
  CHECK(rows[1].programs.size() == 1);  // it said that it has no such case
  CHECK_THAT(table(rows), Contains("a/forward  2x3,4") && Contains("500 ms"));
}

TEST_CASE("a peer that misbehaves is an error that names it", "[bench]") {
  const Case c = select(two_benchmarks(), "a/")[0];
  REQUIRE_THROWS_WITH(PeerProgram({.name = "peer", .arguments = {"/nonexistent/peer"}, .environment = {}}),
                      Contains("peer") && Contains("/nonexistent/peer"));
  REQUIRE_THROWS_WITH(PeerProgram(shell("exit 3")), Contains("the peer peer ended when asked 'version'"));
  REQUIRE_THROWS_WITH(PeerProgram(shell("read -r line; echo hello; read -r line")), Contains("and said 'hello'"));
  REQUIRE_THROWS_WITH(PeerProgram(shell("exec sleep 60"), 0.05), Contains("did not answer 'version' in time"));
  PeerProgram ends(shell("read -r line; echo version 1; read -r line"));
  REQUIRE_THROWS_WITH(ends.prepare(c), Contains("ended when asked 'prepare a/forward 2x3,4'"));
  PeerProgram babbles(shell("read -r line; echo version 1; while read -r line; do echo error: no memory; done"));
  REQUIRE_THROWS_WITH(babbles.prepare(c), Contains("said 'error: no memory'"));
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

  const std::string text = markdown(path, "a/,nothing");
  CHECK_THAT(text, Contains("| benchmark | tandem | peer | best peer / tandem |") && Contains("| a/forward 2x3,4 |"));
  CHECK_THAT(text, !Contains("b/forward"));  // no peer has it
  test::write_file(folder / "other.json", "[1, 2]");
  REQUIRE_THROWS_WITH(markdown(folder / "other.json", ""), Contains("is not a file that `tandem bench --json` wrote"));
  REQUIRE_THROWS_WITH(markdown(folder / "missing.json", ""), Contains("cannot read"));
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
