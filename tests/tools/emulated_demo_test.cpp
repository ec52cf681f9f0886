// Tests `tandem demo --device cuda` on emulated GPUs: every model in every mode, including modes with processes.
#include <sstream>

#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"

using namespace tandem::test;

namespace {

/// Runs the demo with batches of 7, which give shards of 4 and 3.
Result demo(const std::string& data, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"demo", "--data", data, "--device", "cuda", "--devices", "2", "--ranks", "2"};
  arguments.insert(arguments.end(), {"--batch-size", "7", "--compare-steps", "2"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(kCommand, arguments);
}
size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}
/// Returns the last word of the table's line about a mode, or "" if there is none.
std::string last_column(const std::string& output, const std::string& mode) {
  std::istringstream lines(output.substr(std::min(output.size(), output.find("largest difference"))));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(mode + " ", 0) == 0) return line.substr(line.rfind(' ') + 1);
  return {};
}

void check_all_modes(const std::string& model) {
  const TemporaryFolder folder;
  write_digits(folder.path(), 9, 2);
  const Result result = demo(folder.path(), {"--mode", "all", "--model", model, "--json", folder / "json"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  CHECK(last_column(result.output, "single") == "-");
  std::vector<std::string> parallel = {"dp", "ddp_local"};
  if (TANDEM_HAS_GLOO) parallel.emplace_back("ddp_gloo");
  const std::string json = read_file(folder / "json");
  for (const std::string& mode : parallel) {
    INFO(mode);
    CHECK(last_column(result.output, mode) == "0");
    CHECK_THAT(json, Contains("\"" + mode + "\""));
  }
  // One per run, and the maximum over all runs.
  CHECK(count(json, "\"max_parameter_difference\": 0.0") == parallel.size() + 1);
  CHECK(count(json, "\"max_parameter_difference\"") == parallel.size() + 1);
  CHECK_THAT(json, Contains("\"device\": \"cuda\""));
  CHECK_THAT(result.output,
             Contains("emulated device") && Contains("ddp_nccl is left out: each process has its own emulated"));
}

}  // namespace

TEST_CASE("on emulated GPUs the demo trains mlp in every mode, equal to the references", "[demo]") {
  check_all_modes("mlp");
}
TEST_CASE("on emulated GPUs the demo trains lenet in every mode, equal to the references", "[demo]") {
  check_all_modes("lenet");
}
TEST_CASE("on emulated GPUs the demo trains fashion_cnn in every mode, equal to the references", "[demo]") {
  check_all_modes("fashion_cnn");
}

TEST_CASE("on emulated GPUs the demo's captured steps are its steps", "[demo]") {
  const TemporaryFolder folder;
  write_digits(folder.path(), 9, 2);
  std::vector<std::string> losses;
  for (const bool captured : {false, true}) {
    std::vector<std::string> arguments = {"--mode", "single", "--model", "mlp", "--json", folder / "json"};
    if (captured) arguments.emplace_back("--capture");
    const Result result = demo(folder.path(), arguments);
    INFO(result.output);
    REQUIRE(result.status == 0);
    const std::string json = read_file(folder / "json");
    const size_t at = json.find("\"final_loss\"");
    REQUIRE(at != std::string::npos);
    losses.push_back(json.substr(at, json.find(',', at) - at));
  }
  CHECK(losses[0] == losses[1]);
}

TEST_CASE("on emulated GPUs the demo refuses NCCL by name", "[demo]") {
  const TemporaryFolder folder;
  write_digits(folder.path(), 9, 2);
  const Result result = demo(folder.path(), {"--mode", "ddp_nccl"});
  INFO(result.output);
  CHECK(result.status == 2);
  CHECK_THAT(result.output, Contains("demo: --mode ddp_nccl cannot run here: each process has its own emulated GPUs"));
}
