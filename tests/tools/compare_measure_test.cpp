// What compare makes of a trace: the anatomy of a step, memory by cause, the ledger of bytes, intervals. On traces that
// are written by hand, and on real steps into which something was planted.
#include <cmath>
#include <filesystem>
#include <numeric>

#include "tandem/core/allocator.h"
#include "tandem/core/device.h"
#include "tandem/core/tracer.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/statistics.h"

using namespace tandem;
using namespace tandem::tools::compare;

namespace {

using Kind = TraceEvent::Kind;

TraceEvent event(Kind kind, const std::string& name, int rank, int lane, double start, double end) {
  TraceEvent e{.kind = kind, .name = name};
  e.rank = rank, e.lane = lane, e.start = start, e.end = end;
  return e;
}
TraceEvent phase(const std::string& name, int lane, double start, double end) {
  return event(Kind::phase, name, 0, lane, start, end);
}
double sum_of(const Lane& lane) {
  double sum = lane.unattributed;
  for (const auto& [name, seconds] : lane.phases) sum += seconds;
  for (const auto& [name, seconds] : lane.waiting_for) sum += seconds;
  return sum;
}
/// A few short steps of a small network on two or three virtual devices, images of random numbers.
Job small_job(int devices, const std::string& model = "mlp") {
  if (cpu_device_count() < 4) set_cpu_device_count(4);
  Job job;
  job.model = model, job.devices = devices, job.batch = 12, job.warmup = 1, job.steps = 2, job.trace = true;
  return job;
}
std::vector<Lane> lanes_of(const Mode& mode, const Job& job, const Sample& sample) {
  std::vector<std::vector<StepTimes>> steps;
  for (const RankSample& rank : sample.ranks) steps.push_back(rank.steps);
  std::vector<std::string> names;
  for (int i = 0; i < (mode.kind == Mode::Kind::single ? 1 : job.devices); ++i)
    names.push_back((mode.kind == Mode::Kind::distributed ? "rank " : "cpu:") + std::to_string(i));
  return anatomy(sample.events(), steps, names);
}

}  // namespace

TEST_CASE("the anatomy of DataParallel's step: innermost phases, and waiting for the lane that works", "[compare]") {
  // Device 0 scatters, computes until 3, and waits for device 1 until 5; nobody works until 6; then it steps.
  const std::vector<TraceEvent> events = {phase("forward", 0, 0, 6), phase("scatter", 0, 0.5, 1),
                                          phase("forward", 0, 1, 3), phase("forward", 1, 1, 5),
                                          phase("wait", 0, 3, 6),    phase("optimizer", 0, 6, 7)};
  const std::vector<Lane> lanes = anatomy(events, {{{0, 8}}}, {"cpu:0", "cpu:1"});
  REQUIRE(lanes.size() == 2);
  CHECK(lanes[0].phases == std::map<std::string, double>{{"forward", 2.5}, {"scatter", 0.5}, {"optimizer", 1}});
  CHECK(lanes[0].waiting_for == std::map<std::string, double>{{"cpu:1", 2}, {"threads to wake up", 1}});
  CHECK(lanes[0].unattributed == 1);
  CHECK(lanes[1].phases == std::map<std::string, double>{{"forward", 4}});
  CHECK(lanes[1].waiting_for == std::map<std::string, double>{{"cpu:0", 4}});
  for (const Lane& lane : lanes) CHECK(sum_of(lane) == lane.step);
}

TEST_CASE("the anatomy of DDP's step: waiting for the last rank, then communication, exposed or hidden", "[compare]") {
  // Both ranks are in backward; rank 0 waits for its bucket from 4 on. Rank 1 comes to the all-reduce at 5 only.
  const std::vector<TraceEvent> events = {event(Kind::phase, "backward", 0, 0, 0, 4),
                                          event(Kind::phase, "exposed communication", 0, 0, 4, 8),
                                          event(Kind::communication, "all_reduce", 0, 0, 3, 8),
                                          event(Kind::phase, "backward", 1, 0, 0, 6),
                                          event(Kind::phase, "exposed communication", 1, 0, 6, 8),
                                          event(Kind::communication, "all_reduce", 1, 0, 5, 8)};
  const std::vector<Lane> lanes = anatomy(events, {{{0, 8}}, {{0, 9}}}, {"rank 0", "rank 1"});
  CHECK(lanes[0].waiting_for == std::map<std::string, double>{{"rank 1", 1}});
  CHECK(lanes[0].phases == std::map<std::string, double>{{"backward", 4}, {"exposed communication", 3}});
  CHECK(lanes[0].hidden == 0);
  CHECK(lanes[1].waiting_for.empty());
  CHECK(lanes[1].phases == std::map<std::string, double>{{"backward", 6}, {"exposed communication", 2}});
  CHECK(lanes[1].hidden == 1);  // from 5, when both had come, to 6
  CHECK(lanes[1].unattributed == 1);
  for (const Lane& lane : lanes) CHECK(sum_of(lane) == lane.step);
}

TEST_CASE("the anatomy of several steps is their mean", "[compare]") {
  const std::vector<TraceEvent> events = {phase("forward", 0, 0, 1), phase("forward", 0, 10, 13)};
  const Lane lane = anatomy(events, {{{0, 2}, {10, 14}}}, {"cpu:0"}).at(0);
  CHECK(lane.step == 3);
  CHECK(lane.phases.at("forward") == 2);
  CHECK(lane.unattributed == 1);
}

TEST_CASE("memory by cause: by phase, by owner, and what was there before", "[compare]") {
  const Device cpu(kCPU, 0), other(kCPU, 1);
  int blocks[4];
  const std::vector<detail::MemoryEvent> events = {
      {1, cpu, &blocks[0], 100, "replicate"},                                         // owned: a parameter
      {2, cpu, &blocks[1], 10, "forward"},                                            // given back before the step
      {3, cpu, &blocks[1], -10, "backward"},   {10, cpu, &blocks[1], 40, "forward"},  // within the step
      {11, other, &blocks[3], 999, "forward"}, {12, cpu, &blocks[2], 5, nullptr},
      {13, cpu, &blocks[1], -40, "backward"},  {14, cpu, &blocks[1], 7, "backward"},  // owned at the end of the step
      {30, cpu, &blocks[2], -5, nullptr}};                                            // after it
  const Memory memory =
      memory_by_cause(events, cpu, {9, 20}, 1000, {{&blocks[0], "parameters"}, {&blocks[1], "gradients"}});
  CHECK(memory.peak == 1145);
  CHECK(memory.at_peak ==
        std::map<std::string, int64_t>{{"activations", 40}, {"input", 1000}, {"parameters", 100}, {"workspace", 5}});
  CHECK(memory.seconds == std::vector<double>{0, 1, 3, 4, 5, 11});
  CHECK(memory.over_time.at("gradients") == std::vector<int64_t>{0, 0, 0, 0, 7, 7});
  CHECK(memory.over_time.at("activations") == std::vector<int64_t>{0, 40, 40, 0, 0, 0});
}

TEST_CASE("intervals hold the median with 95 % by ranks", "[compare]") {
  const auto to = [](int n) {
    std::vector<double> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 1);
    return interval_of(values);
  };
  // Of the binomial distribution: 6 values leave out none (3.1 %), 9 one on each side (3.9 %), 20 five (4.1 %).
  CHECK(to(6).low == 1);
  CHECK(to(6).high == 6);
  CHECK(to(9).low == 2);
  CHECK(to(9).high == 8);
  CHECK(to(20).low == 6);
  CHECK(to(20).high == 15);
  CHECK(to(9).median == 5);
  CHECK(interval_of({}).median == 0);
  CHECK(percentile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(percentile({1, 2}, 1) == 2);
}

TEST_CASE("bytes equal their formulas, lanes add up, and memory by cause is the allocator's", "[compare]") {
  const int devices = GENERATE(2, 3);
  for (const char* const key : {"single", "dp", "dp_persistent", "dp_loss", "ddp_local", "ddp_local_naive"})
    for (const char* const model : {"mlp", "lenet"}) {
      CAPTURE(key, devices, model);
      const Mode mode = mode_of(key);
      const Job job = small_job(mode.kind == Mode::Kind::single ? 1 : devices, model);
      const Sample sample = run_sample(mode, job);
      for (const Transfers& row : ledger(mode, job, sample)) {
        CAPTURE(row.what, row.link);
        CHECK(row.bytes == row.formula_bytes);
        CHECK(row.bytes > 0);
      }
      for (const Lane& lane : lanes_of(mode, job, sample)) {
        CHECK(std::abs(sum_of(lane) - lane.step) < 1e-9 * lane.step + 1e-12);
        CHECK(lane.phases.count("backward") == 1);
      }
      for (const RankSample& rank : sample.ranks)
        for (size_t i = 0; i < rank.memory.size(); ++i) {
          int64_t sum = 0;
          for (const auto& [cause, bytes] : rank.memory[i].at_peak) sum += bytes;
          CHECK(sum == rank.memory[i].peak);
          CHECK(sum == rank.allocator_peaks.at(i));
        }
    }
}

TEST_CASE("a mode trains the same model as its reference on one device, to the bit", "[compare]") {
  for (const char* const key : {"dp", "dp_persistent", "dp_loss", "ddp_local", "ddp_local_naive"}) {
    CAPTURE(key);
    Job job = small_job(2);
    job.trace = false, job.plain = true, job.warmup = 0, job.steps = 5;
    const RankSample mine = run_sample(mode_of(key), job).ranks.at(0), reference = run_reference(mode_of(key), job);
    REQUIRE(mine.parameters.size() > 100000);
    CHECK(mine.parameters == reference.parameters);
  }
}

// Sleeps are a hundred times as long as a step, so that a busy machine does not matter.
TEST_CASE("what is planted is found in the right place", "[compare]") {
  const double d = 0.1;
  SECTION("a rank's compute under DDP") {
    Job job = small_job(2);
    job.planted = parse_planted("compute:1:0.1");
    const Mode mode = mode_of("ddp_local");
    const std::vector<Lane> lanes = lanes_of(mode, job, run_sample(mode, job));
    CHECK(lanes[1].phases.at("forward") >= 0.95 * d);
    CHECK(lanes[0].waiting_for.at("rank 1") >= 0.5 * d);
  }
  SECTION("a device's compute under DataParallel") {
    Job job = small_job(3);
    job.planted = parse_planted("compute:2:0.1");
    const Mode mode = mode_of("dp");
    const std::vector<Lane> lanes = lanes_of(mode, job, run_sample(mode, job));
    CHECK(lanes[2].phases.at("forward") >= 0.95 * d);
    CHECK(lanes[0].waiting_for.at("cpu:2") >= 0.5 * d);
    CHECK(lanes[1].waiting_for.at("cpu:2") >= 0.5 * d);
  }
  SECTION("the loader") {
    Job job = small_job(2);
    job.planted = parse_planted("input:0.1");
    for (const char* const key : {"single", "dp", "ddp_local"})
      CHECK(lanes_of(mode_of(key), job, run_sample(mode_of(key), job))[0].phases.at("input") >= 0.95 * d);
  }
  SECTION("a first device that is slower") {
    Job job = small_job(2);
    job.planted = parse_planted("slow:0:50");
    const Mode mode = mode_of("dp_loss");
    const std::vector<Lane> lanes = lanes_of(mode, job, run_sample(mode, job));
    CHECK(lanes[0].phases.at("forward") > 3 * lanes[1].phases.at("forward"));
    CHECK(lanes[1].waiting_for.at("cpu:0") > lanes[1].phases.at("forward"));
  }
  SECTION("memory of a phase") {
    Job job = small_job(2);
    const Mode mode = mode_of("dp_loss");
    const Memory without = run_sample(mode, job).ranks[0].memory[1];
    job.planted = parse_planted("memory:1:50000000:replicate");
    const Memory with = run_sample(mode, job).ranks[0].memory[1];
    const auto of = [](const Memory& m, const char* cause) { return m.at_peak.count(cause) ? m.at_peak.at(cause) : 0; };
    CHECK(of(with, "replicas") - of(without, "replicas") == 50000000);
    CHECK(with.peak - without.peak == 50000000);
  }
}

TEST_CASE("the diagnosis names what was planted", "[compare]") {
  Report report;
  Run run;
  run.model = "mlp", run.mode = "ddp_local", run.label = "DDP over local", run.devices = 2;
  run.repeats = {1}, run.speedup = {0.5, 0.4, 0.6};
  run.lanes.resize(2);
  run.lanes[0].name = "rank 0", run.lanes[1].name = "rank 1";
  run.lanes[0].step = run.lanes[1].step = 1;
  run.lanes[0].phases = {{"forward", 0.4}, {"input", 0.3}}, run.lanes[1].phases = {{"forward", 0.7}, {"input", 0.3}};
  run.lanes[0].waiting_for["rank 1"] = 0.3;
  report.runs = {run};
  diagnose(report);
  std::vector<std::string> kinds;
  for (const Diagnosis& d : report.diagnosis) kinds.push_back(d.kind);
  CHECK(kinds == std::vector<std::string>{"data-starved", "straggler"});
  CHECK_THAT(report.diagnosis[1].sentence, Contains("for rank 1"));
}

TEST_CASE("what is no fault to plant is refused", "[compare]") {
  CHECK(parse_planted("").kind == Planted::Kind::none);
  for (const char* const good : {"none", "compute:1:0.25", "input:0.5", "slow:0:2", "memory:1:1000:forward"})
    CHECK(str(parse_planted(good)) == good);
  for (const char* const bad : {"compute", "compute:1", "compute:x:1", "compute:1:-1", "slow:0:0.5", "input:1:2",
                                "heat:1:2", "memory:1:2", "compute:1:1e99"})
    CHECK_THROWS_WITH(parse_planted(bad), Contains("accepted: none, compute:RANK:SECONDS"));
}

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
  for (const Run& run : report.runs) {
    CHECK(run.failed.empty());
    CHECK(run.repeats.size() == 2);
    CHECK(run.lanes.size() == static_cast<size_t>(run.devices));
  }
  CHECK(report.links.size() == 2);
  CHECK(std::filesystem::file_size(out + "/report.html") > 10000);
  CHECK(std::filesystem::file_size(out + "/trace.json") > 1000);
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
  refused({"--devices", "0"}, "--devices names 0; accepted: 2 to");
  refused({"--devices", "3"}, "a batch of 128 cannot be cut into 3 equal parts");
  refused({"--mode", "dpp"}, "mode 'dpp'; accepted: single, dp,");
  refused({"--plant", "heat:1"}, "accepted: none, compute:RANK:SECONDS");
  refused({"--model", "vgg"}, "vgg");
  refused({"--out", "/proc/nowhere"}, "cannot be made");
}
