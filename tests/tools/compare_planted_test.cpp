// Tests that faults planted into real steps are found in the right place and described correctly.
#include <string>
#include <vector>

#include "tandem/tests/catch.h"
#include "tandem/tests/tools/compare_jobs.h"
#include "tandem/tools/compare/compare.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::tools::compare;

namespace {

/// The report's findings about one run of a mode
struct DiagnosedRun {
  std::vector<Lane> lanes;
  std::vector<double> fault;  // seconds that the planted fault slept in a step, by rank
  std::vector<Diagnosis> diagnosis;
  bool has_diagnosis(const std::string& kind, const std::string& words) const {
    for (const Diagnosis& d : diagnosis)
      if (d.kind == kind && d.sentence.find(words) != std::string::npos) return true;
    return false;
  }
  std::string all() const {
    std::string text;
    for (const Diagnosis& d : diagnosis) text += d.kind + ": " + d.sentence + "\n";
    return text;
  }
};
DiagnosedRun run_and_diagnose(const char* key, const std::string& fault, int devices = 2, int batch = 12) {
  Job job = small_job(devices);
  job.batch = batch;
  job.steps = 6;  // fewer have no diagnosis
  job.fault = parse_fault(fault);
  const Mode mode = find_mode(key);
  const Sample sample = run_sample(mode, job);
  const std::vector<std::vector<Lane>> steps = lanes_by_step(mode, job, sample);
  DiagnosedRun out{mean_lanes(steps), {}, {}};
  for (const RankSample& rank : sample.ranks) out.fault.push_back(rank.planted_seconds);
  Report report;
  Run run;
  run.model = job.model, run.mode = key, run.label = mode.label, run.devices = devices, run.lanes = out.lanes;
  run.steps = list_lane_steps(steps), run.shown_step.of = job.steps;
  report.runs = {run};
  diagnose(report);
  out.diagnosis = report.diagnosis;
  return out;
}
/// Plants a fault and checks that its diagnosis is there. If a busy machine hides it, plants `larger`.
DiagnosedRun plant(const char* key, const std::string& fault, const std::string& larger, const char* kind,
                   const char* words, int devices = 2, int batch = 12) {
  DiagnosedRun run = run_and_diagnose(key, fault, devices, batch);
  if (!run.has_diagnosis(kind, words)) run = run_and_diagnose(key, larger, devices, batch);
  CAPTURE(run.all());
  CHECK(run.has_diagnosis(kind, words));
  return run;
}
/// Plants a sleep in each step. @param fault  a fault without its seconds, such as "compute:1:"
DiagnosedRun plant_sleep(const char* key, const std::string& fault, const char* kind, const char* words,
                         int devices = 2) {
  return plant(key, fault + "0.05", fault + "0.5", kind, words, devices);
}
double sum(const Lane& lane, const std::vector<std::string>& phases) {
  double seconds = 0;
  for (const std::string& phase : phases)
    if (lane.phases.count(phase)) seconds += lane.phases.at(phase);
  return seconds;
}
double waiting_seconds(const Lane& lane, const std::string& for_whom) {
  return lane.waiting_for.count(for_whom) ? lane.waiting_for.at(for_whom) : 0;
}
/// Seconds of a lane's own work. On a busy machine this work takes long, which shortens the wait for others.
double working_seconds(const Lane& lane) {
  double seconds = 0;
  for (const auto& [phase, of_phase] : lane.phases)
    if (phase != "exposed communication") seconds += of_phase;
  return seconds + lane.unattributed + waiting_seconds(lane, "a free core");
}
constexpr double kMinStepFraction = 0.95;  // minimum share of the planted time that must be found

}  // namespace

// The sleeps take fifty times as long as a step. Time that a busy machine adds to the work of waiting lanes is
// subtracted.
TEST_CASE("what is planted is found in the right place, in the right words", "[compare]") {
  SECTION("a rank's compute under DDP") {
    const DiagnosedRun t = plant_sleep("ddp_local", "compute:1:", "straggler", "for rank 1");
    INFO(t.all());
    REQUIRE(t.fault[1] >= 0.05);
    CHECK(t.fault[0] == 0);
    CHECK(sum(t.lanes[1], {"forward"}) >= kMinStepFraction * t.fault[1]);
    CHECK(waiting_seconds(t.lanes[0], "rank 1") >= kMinStepFraction * (t.fault[1] - working_seconds(t.lanes[0])));
  }
  SECTION("a device's compute under DataParallel") {
    const DiagnosedRun t = plant_sleep("dp", "compute:2:", "straggler", "for cpu:2", 3);
    INFO(t.all());
    CHECK(sum(t.lanes[2], {"forward"}) >= kMinStepFraction * t.fault[0]);
    CHECK(waiting_seconds(t.lanes[0], "cpu:2") >= kMinStepFraction * (t.fault[0] - working_seconds(t.lanes[0])));
    CHECK(waiting_seconds(t.lanes[1], "cpu:2") >= kMinStepFraction * (t.fault[0] - working_seconds(t.lanes[1])));
  }
  SECTION("a link under DDP") {
    const DiagnosedRun t = plant_sleep("ddp_local", "link:1:", "link-bound", "Exposed communication takes");
    INFO(t.all());
    REQUIRE(t.fault[1] >= 0.05);
    for (const Lane& lane : t.lanes)  // both ranks are on time, but the transferred bytes are late
      CHECK(sum(lane, {"exposed communication"}) + lane.hidden >= kMinStepFraction * t.fault[1]);
    CHECK(!t.has_diagnosis("straggler", ""));
  }
  SECTION("a link under DataParallel") {
    const DiagnosedRun t = plant_sleep("dp", "link:1:", "first-device-bound", "scatter, replicate, gather, reduce");
    INFO(t.all());
    REQUIRE(t.fault[0] >= 0.05);
    CHECK(sum(t.lanes[0], {"scatter", "replicate", "gather", "reduce"}) >= kMinStepFraction * t.fault[0]);
    CHECK(waiting_seconds(t.lanes[1], "cpu") + waiting_seconds(t.lanes[1], "cpu:0") >=
          kMinStepFraction * (t.fault[0] - working_seconds(t.lanes[1])));
  }
  SECTION("the loader") {
    for (const char* const key : {"single", "dp", "ddp_local"}) {
      const DiagnosedRun t = plant_sleep(key, "input:", "data-starved", "Loading the next batch takes",
                                         std::string(key) == "single" ? 1 : 2);
      INFO(key << "\n" << t.all());
      REQUIRE(t.fault[0] >= 0.05);
      CHECK(sum(t.lanes[0], {"input"}) >= kMinStepFraction * t.fault[0]);
      CHECK((std::string(key) == "dp" || t.lanes.size() == 1 ||
             sum(t.lanes[1], {"input"}) >= kMinStepFraction * t.fault[1]));
    }
  }
  SECTION("a first device that is slower") {
    // Half as fast: the added sleep takes as long as the kernel, and the device's compute time includes both.
    const DiagnosedRun half = run_and_diagnose("dp_loss", "slow:0:2", 2, 8192);
    REQUIRE(half.fault[0] > 1e-3);
    CHECK(sum(half.lanes[0], kPhases) >= kMinStepFraction * 2 * half.fault[0]);
    // So slow that other load on the machine does not matter. With 512 rows, forward and backward take most of the
    // step.
    const DiagnosedRun t = plant("dp_loss", "slow:0:100", "slow:0:1000", "first-device-bound",
                                 "it is slower, and they wait for it", 2, 512);
    INFO(t.all());
    CHECK(sum(t.lanes[0], kPhases) >= kMinStepFraction * 100 / 99 * t.fault[0]);
    CHECK(sum(t.lanes[0], {"forward", "backward"}) > 3 * sum(t.lanes[1], {"forward", "backward"}));
  }
  SECTION("memory of a phase") {
    Job job = small_job(2);
    const Mode mode = find_mode("dp_loss");
    const auto of = [](const Memory& m, const std::string& cause) {
      return m.at_peak.count(cause) ? m.at_peak.at(cause) : 0;
    };
    const Memory without = run_sample(mode, job).ranks[0].memory[1];
    for (const auto& [phase, cause] : std::vector<std::pair<std::string, std::string>>{{"replicate", "replicas"},
                                                                                       {"forward", "activations"},
                                                                                       {"backward", "activations"},
                                                                                       {"input", "input"},
                                                                                       {"optimizer", "optimizer"}}) {
      CAPTURE(phase);
      job.fault = parse_fault("memory:1:50000000:" + phase);
      const Memory with = run_sample(mode, job).ranks[0].memory[1];
      CHECK(of(with, cause) - of(without, cause) >= 50000000 * kMinStepFraction);
      CHECK(with.peak - without.peak == 50000000);
    }
  }
}

TEST_CASE("what is no fault to plant is refused", "[compare]") {
  CHECK(parse_fault("").kind == InjectedFault::Kind::none);
  for (const char* const good :
       {"none", "compute:1:0.25", "input:0.5", "slow:0:2", "link:1:0.25", "fail:1", "memory:1:1000:forward"})
    CHECK(str(parse_fault(good)) == good);
  for (const char* const bad : {"compute", "compute:1", "compute:x:1", "compute:1:-1", "slow:0:0.5", "input:1:2",
                                "heat:1:2", "memory:1:2", "compute:1:1e99"})
    CHECK_THROWS_WITH(parse_fault(bad), Contains("accepted: none, compute:RANK:SECONDS"));
  for (const char* const phase : {"froward", "wait", "exposed communication"})
    CHECK_THROWS_WITH(
        parse_fault("memory:1:1000:" + std::string(phase)),
        Contains("no phase '" + std::string(phase) + "'") &&
            Contains("accepted: input, scatter, replicate, forward, gather, loss, backward, reduce, optimizer"));
}
