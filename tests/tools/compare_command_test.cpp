// Tests `tandem compare` as a program: the files it leaves with valid and invalid input.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/compare/report.h"

using namespace tandem;
using namespace tandem::tools::compare;

TEST_CASE("tandem compare leaves a report, a page and a trace", "[compare]") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const test::Result result = test::run_program(
      test::kCommand, {"compare", "--model", "mlp", "--devices", "2", "--quick", "--repeats", "2", "--seconds", "0.001",
                       "--backend", "local", "--mode", "dp_loss,ddp_local", "--out", out});
  CAPTURE(result.output);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.output, Contains("2 of 2 runs end with the parameters of their reference to the last bit"));
  const Report report = read_report(out + "/report.json");
  CHECK(report.complete);
  CHECK(report.virtual_devices);
  REQUIRE(report.runs.size() == 3);
  CHECK(report.measured_on == "cpu");
  REQUIRE(report.repeats.size() == 1);
  CHECK(report.repeats[0].done == 2);
  CHECK(report.repeats[0].needed == 7);  // for two modes
  CHECK(report.repeats[0].ended == "as asked");
  CHECK_THAT(result.output, Contains("There is no verdict for mlp at batch 128: 2 repeats are too few.") &&
                                Contains("(n = 2: no interval)"));
  for (const Run& run : report.runs) {
    CHECK(run.failed.empty());
    CHECK(run.repeats.size() == 2);
    CHECK(!run.speedup.is_valid());
    CHECK(!run.examples_per_second.is_valid());
    CHECK(run.lanes.size() == static_cast<size_t>(run.devices));
    // The timeline is of the step of median duration, and its bars lie in it.
    REQUIRE(run.steps.size() == run.lanes.size());
    std::vector<double> seconds = run.steps[0].seconds.at("step");
    CHECK(run.shown_step.of == static_cast<int>(seconds.size()));
    CHECK(run.shown_step.of >= 12);
    CHECK(std::abs(run.shown_step.seconds - seconds.at(static_cast<size_t>(run.shown_step.number - 1))) < 1e-6);
    std::sort(seconds.begin(), seconds.end());
    CHECK(std::abs(run.shown_step.seconds - seconds[(seconds.size() - 1) / 2]) < 1e-6);
    for (const TimelineEvent& event : run.timeline.at(0).events) CHECK(event.end < 1.1 * run.shown_step.seconds);
  }
  CHECK(report.links.size() == 2);
  CHECK(std::filesystem::file_size(out + "/report.html") > 10000);
  CHECK(std::filesystem::file_size(out + "/trace.json") > 1000);
}

TEST_CASE("tandem compare measures until its intervals exist, or until the time is up, and says which", "[compare]") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const auto measured = [&](const std::string& seconds) {
    const test::Result result = test::run_program(
        test::kCommand, {"compare", "--model", "mlp", "--quick", "--seconds", "0.001", "--device", "cpu", "--backend",
                         "local", "--mode", "dp_loss", "--time-limit", seconds, "--out", out});
    CAPTURE(result.output);
    CHECK(result.status == 0);
    CHECK_THAT(result.output, Contains("This is from "));
    return read_report(out + "/report.json");
  };
  const Report enough = measured("300"), few = measured("0.001");
  CHECK(enough.repeats.at(0).ended == "as needed");
  CHECK(enough.repeats.at(0).done == 6);
  CHECK(enough.runs.at(1).speedup.is_valid());
  CHECK(few.repeats.at(0).ended == "time up");
  CHECK(few.repeats.at(0).done == 1);
  CHECK_THAT(few.verdict, Contains("1 repeat is too few") && Contains("after which the time was up"));
}

namespace {

/// Arguments of `tandem compare` for one small job
std::vector<std::string> small_compare(const std::string& out, std::vector<std::string> more,
                                       const char* repeats = "2") {
  std::vector<std::string> arguments = {"compare", "--model",   "mlp",   "--devices", "2",     "--quick", "--device",
                                        "cpu",     "--repeats", repeats, "--seconds", "0.001", "--out",   out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("a mode that fails half-way has its reason in its row, and the rest of the report stands", "[compare]") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const test::Result result = test::run_program(
      test::kCommand, small_compare(out, {"--backend", "local", "--mode", "dp,ddp_local", "--plant", "fail:1"}));
  CAPTURE(result.output);
  CHECK(result.status == 0);
  const Report report = read_report(out + "/report.json");
  REQUIRE(report.runs.size() == 3);
  CHECK(report.runs[0].failed.empty());  // the planted failure is on device 1, which this run does not use
  CHECK_THAT(report.runs[1].failed, Contains("planted failure on cpu:1"));
  CHECK_THAT(report.runs[2].failed, Contains("rank 1") && Contains("planted"));
  CHECK_THAT(result.output, Contains("failed: ") && Contains("There is no verdict for mlp at batch 128"));
  CHECK(std::filesystem::exists(out + "/report.html"));
}

TEST_CASE("more ranks than GPUs can share the first one, and the report says that they did", "[compare][cuda]") {
  if (!cuda::is_available() || !distributed::is_gloo_available()) {
    WARN("SKIPPED: it needs a GPU, emulated or not, and Gloo");
    return;
  }
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const auto arguments = [&](const std::string& mode, const std::string& devices, std::vector<std::string> more) {
    std::vector<std::string> all = {"compare", "--model",   "mlp",  "--device",  "cuda", "--devices",
                                    devices,   "--backend", "gloo", "--mode",    mode,   "--out",
                                    out,       "--repeats", "1",    "--seconds", "0.001"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  // Interrupted early, because a whole run takes too long on an emulated GPU. The messages do not depend on how much
  // was measured.
  const test::Result result = test::interrupt_program(
      test::kCommand, arguments("ddp_gloo", "2", {"--quick", "--batch-size", "4"}), "mlp, one device");
  CAPTURE(result.output);
  CHECK(result.status == 130);
  CHECK_THAT(result.output, Contains("The ranks shared one GPU"));
  CHECK(read_report(out + "/report.json").virtual_devices);
  CHECK_THAT(test::read_file(out + "/report.html"), Contains("The ranks shared one GPU"));

  // Only --backend gloo --mode ddp_gloo may use more ranks than there are GPUs. The command accepts it, and then
  // reports the invalid --plant instead.
  const std::string more = std::to_string(cuda::device_count() + 1);
  const std::vector<std::string> last = {"--batch-size", std::to_string(4 * (cuda::device_count() + 1)), "--plant",
                                         "fail:99"};
  const auto said = [&](const std::string& mode) {
    return test::run_program(test::kCommand, arguments(mode, more, last)).output;
  };
  CHECK_THAT(said("ddp_gloo,dp"),
             Contains("--devices has the device count " + more) && Contains("--backend gloo --mode ddp_gloo"));
  CHECK_THAT(said("ddp_gloo"), Contains("there is no device or rank 99"));
}

TEST_CASE("Ctrl-C leaves a report that says it is incomplete", "[compare]") {
  // The signal arrives while ranks are threads of the process, or while they are separate processes.
  for (const char* const mode : {"ddp_local", "ddp_gloo"}) {
    if (std::string(mode) == "ddp_gloo" && !distributed::is_gloo_available()) continue;
    CAPTURE(mode);
    const test::TemporaryFolder folder;
    const std::string out = folder / "report";
    std::vector<std::string> arguments = {"--foreground", "--preserve-status", "-s", "INT", "5", test::kCommand};
    for (const std::string& argument :
         small_compare(out, {"--mode", mode, "--backend", std::string(mode).substr(4)}, "1000"))
      arguments.push_back(argument);
    const test::Result result = test::run_program("/usr/bin/timeout", arguments);
    CAPTURE(result.output);
    CHECK(result.status == 130);
    const Report report = read_report(out + "/report.json");
    CHECK(!report.complete);
    CHECK(report.incomplete_because == "interrupted");
    for (const Repeats& repeats : report.repeats) {
      CHECK(repeats.ended == "interrupted");
      CHECK(repeats.done < 1000);
      if (repeats.done < repeats.needed) CHECK_THAT(report.verdict, Contains("There is no verdict"));
    }
    for (const Run& run : report.runs) CHECK(run.failed.empty());
    CHECK_THAT(test::read_file(out + "/report.html"), Contains("This report is incomplete:"));
  }
}

TEST_CASE("a disk that fills up leaves no half-written report", "[compare]") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const test::Result result =
      test::run_program(test::kCommand, small_compare(out, {"--backend", "local", "--mode", "dp_loss"}), [] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{20'000, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &limit);
      });
  CAPTURE(result.output);
  CHECK(result.status == 1);
  CHECK_THAT(result.output, Contains("cannot write " + out + "/report.json: File too large"));
  CHECK_THAT(result.output, Contains("cannot write " + out + "/report.html: File too large"));
  // The verdict is printed before the files are written.
  CHECK_THAT(result.output, Contains("of 1 runs end with the parameters"));
  CHECK(std::filesystem::is_empty(out));
}

TEST_CASE("a job that does not fit into memory fails in its rows", "[compare]") {
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: a sanitizer reserves more than any limit");
    return;
  }
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const test::Result result = test::run_program(
      test::kCommand,
      small_compare(out, {"--backend", "local", "--mode", "dp_loss", "--plant", "memory:1:100000000000:forward"}), [] {
        const rlimit limit{rlim_t{8} << 30, RLIM_INFINITY};
        ::setrlimit(RLIMIT_AS, &limit);
      });
  CAPTURE(result.output);
  CHECK(result.status == 0);
  const Report report = read_report(out + "/report.json");
  REQUIRE(report.runs.size() == 2);
  CHECK(report.runs[0].failed.empty());
  CHECK_THAT(report.runs[1].failed, Contains("100000000000"));
}

TEST_CASE("tandem compare refuses what it cannot measure, and leaves no file", "[compare]") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "report";
  const auto refused = [&](std::vector<std::string> arguments, const std::string& message) {
    arguments.insert(arguments.begin(), {"compare", "--device", "cpu"});
    if (arguments.back() != "/proc/nowhere") arguments.insert(arguments.end(), {"--out", out});
    const test::Result result = test::run_program(test::kCommand, arguments);
    CHECK(result.status != 0);
    CHECK_THAT(result.output, Contains(message));
    CHECK(!std::filesystem::exists(out + "/report.json"));
  };
  refused({"--devices", "0"}, "--devices has the device count 0; accepted: 2 to");
  refused({"--devices", "3"}, "a batch of 128 cannot be split into 3 equal parts");
  refused({"--mode", "dpp"}, "mode 'dpp'; accepted: single, dp,");
  refused({"--plant", "compute:4:0.1"}, "--plant compute:4:0.1: there is no device or rank 4; accepted: 0 to 3");
  refused({"--backend", "nccl"}, "--backend nccl cannot run here: NCCL needs GPUs");
  refused({"--plant", "heat:1"}, "accepted: none, compute:RANK:SECONDS");
  refused({"--plant", "memory:1:1000:froward"}, "there is no phase 'froward'; accepted: input, scatter,");
  refused({"--model", "vgg"}, "--model: 'vgg' is not known; accepted: mlp, lenet, fashion_cnn, bert, gpt");
  refused({"--profile", "/no/such/file.json"}, "/no/such/file.json");
  refused({"--out", "/proc/nowhere"}, "cannot be created");
}
