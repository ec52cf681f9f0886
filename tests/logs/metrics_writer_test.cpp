// Tests MetricsWriter: CSV and JSON Lines, values they cannot hold, and appending to files.
#include <filesystem>
#include <limits>
#include <regex>

#include "tandem/logs/metrics_writer.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/temporary.h"

using namespace tandem::test;
using tandem::logs::MetricsWriter;

namespace {

/// Replaces the seconds, which differ from run to run, by 0.
std::string without_times(const std::string& csv) {
  return std::regex_replace(csv, std::regex("(^|\n)(-?\\d+),[0-9.e-]+"), "$1$2,0");
}

}  // namespace

TEST_CASE("MetricsWriter writes CSV, each row as soon as it is added", "[logs]") {
  const TemporaryFolder folder;
  const std::string path = folder / "run.csv";
  MetricsWriter log(path);
  CHECK(read_file(path).empty());
  log.add(1, {{"loss", 0.1}, {"a, \"b\"", 1e-300}});
  CHECK(without_times(read_file(path)) == "step,seconds,loss,\"a, \"\"b\"\"\"\n1,0,0.1,1e-300\n");
  log.add(-2, {{"loss", -std::numeric_limits<double>::quiet_NaN()}});
  log.add(3, {{"a, \"b\"", -INFINITY}, {"loss", 1.0f / 3}});
  log.add(4, {});
  CHECK_THAT(without_times(read_file(path)), Contains("\n-2,0,nan,\n3,0,0.3333333432674408,-inf\n4,0,,\n"));
  CHECK_THROWS_WITH(log.add(5, {{"accuracy", 1}}),
                    Contains("has no column 'accuracy'") && Contains("(loss, a, \"b\")") && Contains(".jsonl"));
  CHECK_THROWS_WITH(log.add(5, {{"loss", 1}, {"loss", 2}}), Contains("'loss' occurs twice"));
  CHECK_THROWS_WITH(log.add(5, {{"step", 1}}), Contains("'step' is a column already"));
}

TEST_CASE("MetricsWriter writes JSON Lines, whose rows may differ", "[logs]") {
  const TemporaryFolder folder;
  MetricsWriter log(folder / "run.jsonl");
  log.add(1, {{"loss", 0.1}, {"\"quoted\"\\\n", 2}});
  log.add(2, {{"accuracy", INFINITY}});
  std::istringstream lines(read_file(log.path()));
  std::string line;
  REQUIRE(std::getline(lines, line));
  auto row = parse_json(line);
  CHECK(row.at("seconds").get<double>() < 60);
  row.erase("seconds");
  CHECK(row == nlohmann::json({{"step", 1}, {"loss", 0.1}, {"\"quoted\"\\\n", 2}}));
  REQUIRE(std::getline(lines, line));
  CHECK(parse_json(line).at("accuracy").is_null());
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("a MetricsWriter goes on where another ended, or begins anew", "[logs]") {
  const TemporaryFolder folder;
  const std::string path = folder / "run.csv";
  MetricsWriter(path).add(1, {{"loss", 1}});
  MetricsWriter(path, /*append=*/true).add(2, {{"loss", 2}});
  CHECK(without_times(read_file(path)) == "step,seconds,loss\n1,0,1\n2,0,2\n");
  write_file(path, read_file(path) + "3,0.5");  // a line cut off by a crash
  MetricsWriter(path, true).add(4, {{"loss", 4}});
  CHECK(without_times(read_file(path)) == "step,seconds,loss\n1,0,1\n2,0,2\n3,0\n4,0,4\n");
  CHECK_THROWS_WITH(MetricsWriter(path, true).add(5, {{"accuracy", 4}}),
                    Contains("has the columns step,seconds,loss, and the row to append has step,seconds,accuracy"));
  MetricsWriter(folder / "new.csv", true).add(1, {{"loss", 1}});
  CHECK(without_times(read_file(folder / "new.csv")) == "step,seconds,loss\n1,0,1\n");
  MetricsWriter(path).add(1, {{"other", 1}});
  CHECK(without_times(read_file(path)) == "step,seconds,other\n1,0,1\n");
}

TEST_CASE("MetricsWriter says what it cannot write", "[logs]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(MetricsWriter(folder / "run.txt"), Contains("run.txt") && Contains(".csv or .jsonl"));
  CHECK_THROWS_WITH(MetricsWriter(folder / "none/run.csv"), Contains("none/run.csv: No such file or directory"));
  if (!std::filesystem::exists("/dev/full")) {
    WARN("SKIPPED: there is no /dev/full");
    return;
  }
  std::filesystem::create_symlink("/dev/full", folder / "full.csv");
  MetricsWriter full(folder / "full.csv");
  CHECK_THROWS_WITH(full.add(1, {{"loss", 1}}), Contains("full.csv: No space left on device"));
}
