// Tests the evaluation of a trace by `tandem compare`: the breakdown of a step, memory by cause, the table of
// transferred bytes, and intervals. Uses traces written by hand, and real steps with planted faults.
#include <cmath>
#include <numeric>

#include "tandem/core/allocator.h"
#include "tandem/core/device.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/tools/compare_jobs.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/measure/sweeps.h"
#include "tandem/tools/compare/statistics.h"

using namespace tandem;
using namespace tandem::test;
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
double total_seconds(const Lane& lane) {
  double sum = lane.unattributed;
  for (const auto& [name, seconds] : lane.phases) sum += seconds;
  for (const auto& [name, seconds] : lane.waiting_for) sum += seconds;
  return sum;
}
}  // namespace

TEST_CASE("the anatomy of DataParallel's step: innermost phases, and waiting for the lane that works", "[compare]") {
  // Device 0 scatters, computes until 3, and waits for device 1 until 5. No device works until 6. Then device 0 steps.
  const std::vector<TraceEvent> events = {phase("forward", 0, 0, 6), phase("scatter", 0, 0.5, 1),
                                          phase("forward", 0, 1, 3), phase("forward", 1, 1, 5),
                                          phase("wait", 0, 3, 6),    phase("optimizer", 0, 6, 7)};
  const std::vector<Lane> lanes = compute_time_breakdown(events, {{{0, 8}}}, {"cpu:0", "cpu:1"});
  REQUIRE(lanes.size() == 2);
  CHECK(lanes[0].phases == std::map<std::string, double>{{"forward", 2.5}, {"scatter", 0.5}, {"optimizer", 1}});
  CHECK(lanes[0].waiting_for == std::map<std::string, double>{{"cpu:1", 2}, {"threads to wake up", 1}});
  CHECK(lanes[0].unattributed == 1);
  CHECK(lanes[1].phases == std::map<std::string, double>{{"forward", 4}});
  CHECK(lanes[1].waiting_for == std::map<std::string, double>{{"cpu:0", 4}});
  for (const Lane& lane : lanes) CHECK(total_seconds(lane) == lane.step);
}

TEST_CASE("the anatomy of DDP's step: waiting for the last rank, then communication, exposed or hidden", "[compare]") {
  // Both ranks are in backward. Rank 0 waits for its bucket from 4 on. Rank 1 does not start the all-reduce before 5.
  const std::vector<TraceEvent> events = {event(Kind::phase, "backward", 0, 0, 0, 4),
                                          event(Kind::phase, "exposed communication", 0, 0, 4, 8),
                                          event(Kind::communication, "all_reduce", 0, 0, 3, 8),
                                          event(Kind::phase, "backward", 1, 0, 0, 6),
                                          event(Kind::phase, "exposed communication", 1, 0, 6, 8),
                                          event(Kind::communication, "all_reduce", 1, 0, 5, 8)};
  const std::vector<Lane> lanes = compute_time_breakdown(events, {{{0, 8}}, {{0, 9}}}, {"rank 0", "rank 1"});
  CHECK(lanes[0].waiting_for == std::map<std::string, double>{{"rank 1", 1}});
  CHECK(lanes[0].phases == std::map<std::string, double>{{"backward", 4}, {"exposed communication", 3}});
  CHECK(lanes[0].hidden == 0);
  CHECK(lanes[1].waiting_for.empty());
  CHECK(lanes[1].phases == std::map<std::string, double>{{"backward", 6}, {"exposed communication", 2}});
  CHECK(lanes[1].hidden == 1);  // from 5, when both ranks had started the all-reduce, to 6
  CHECK(lanes[1].unattributed == 1);
  for (const Lane& lane : lanes) CHECK(total_seconds(lane) == lane.step);
}

TEST_CASE("between two phases a lane waits for a core as long as its thread had none", "[compare]") {
  // From 2 to 4 the thread used half a second of CPU time. From 6 to the end it used CPU time without a gap.
  TraceEvent forward = phase("forward", 0, 0, 2), backward = phase("backward", 0, 4, 6);
  forward.cpu_start = 10, forward.cpu_end = 11;
  backward.cpu_start = 11.5, backward.cpu_end = 13;
  const StepTimes step{0, 7, 10, 14};
  for (const size_t ranks : {1, 2}) {
    std::vector<TraceEvent> events = {forward, backward};
    if (ranks == 2) events.push_back(event(Kind::phase, "forward", 1, 0, 0, 7));
    const Lane lane = compute_time_breakdown(events, std::vector<std::vector<StepTimes>>(ranks, {step}),
                                             std::vector<std::string>(ranks, "lane"))
                          .at(0);
    CHECK(lane.waiting_for == std::map<std::string, double>{{"a free core", 1.5}});
    CHECK(lane.unattributed == 1.5);
    CHECK(total_seconds(lane) == lane.step);
  }
}

TEST_CASE("a collective that starts late because the one before it still runs is communication, not lateness",
          "[compare]") {
  // Both ranks call the second all-reduce at 2. Rank 1's first one ends at 4, one second later than rank 0's.
  std::vector<TraceEvent> events;
  for (const int rank : {0, 1}) {
    events.push_back(event(Kind::phase, "exposed communication", rank, 0, 1, 8));
    events.push_back(event(Kind::communication, "all_reduce", rank, 0, 1, 3 + rank));
    events.push_back(event(Kind::communication, "all_reduce", rank, 0, 3 + rank, 8));
    events[events.size() - 2].queued = 1, events.back().queued = 2;
  }
  for (const Lane& lane : compute_time_breakdown(events, {{{1, 8}}, {{1, 8}}}, {"rank 0", "rank 1"})) {
    CHECK(lane.waiting_for.empty());
    CHECK(lane.phases == std::map<std::string, double>{{"exposed communication", 7}});
  }
}

TEST_CASE("waits for a core while a batch is loaded are counted apart", "[compare]") {
  // Threads wait for a core for half of the time from 2 to 6, and the loader runs from 1 to 4.
  const std::vector<TraceEvent> events = {event(Kind::phase, "input", 0, 0, 1, 4),
                                          event(Kind::phase, "forward", 0, 0, 4, 8)};
  const std::vector<Activity> activities = {{{{0, 0, 0}, {2, 2, 0}, {6, 4, 2}, {8, 6, 2}}, {}}};
  const auto steps = break_down_steps(events, {{{0, 8}}}, {"cpu"}, activities);
  CHECK(steps.at(0).at(0).input_without_core == 1);
  CHECK(list_lane_steps(steps).at(0).seconds.at("input without a core") == std::vector<double>{1});
}

TEST_CASE("a rank that is stopped waits for the end of the stop, and the others wait for it", "[compare]") {
  // Rank 1 is stopped from 2 to 3, in its backward, and from 5 to 7, while both communicate. Both ranks use half a core
  // from 4 to 5 and none later.
  std::vector<TraceEvent> events;
  for (const int rank : {0, 1}) {
    events.push_back(event(Kind::phase, "backward", rank, 0, 0, 3.0 + rank));
    events.push_back(event(Kind::phase, "exposed communication", rank, 0, 3.0 + rank, 8));
    events.push_back(event(Kind::communication, "all_reduce", rank, 0, 3.0 + rank, 8));
  }
  const std::vector<ActivitySample> samples = {{0, 0, 0}, {4, 4, 0}, {5, 4.25, 0.25}, {8, 4.25, 0.25}};
  const std::vector<Activity> activities = {{samples, {}}, {samples, {{2, 3}, {5, 7}}}};
  const auto steps = break_down_steps(events, {{{0, 8}}, {{0, 8}}}, {"rank 0", "rank 1"}, activities);
  REQUIRE(steps.size() == 1);
  const Lane &first = steps[0][0], &second = steps[0][1];
  CHECK(first.waiting_for == std::map<std::string, double>{{"rank 1", 3}});
  CHECK(first.phases == std::map<std::string, double>{{"backward", 3}, {"exposed communication", 2}});
  CHECK(second.waiting_for == std::map<std::string, double>{{"the end of a stop", 3}});
  CHECK(second.phases == std::map<std::string, double>{{"backward", 3}, {"exposed communication", 2}});
  for (const Lane& lane : steps[0]) {
    CHECK(lane.link == 1);  // from 7 to 8; from 4 to 5 the two ranks together kept a core busy
    CHECK(total_seconds(lane) == lane.step);
  }
  // The same steps by lane.
  const std::vector<LaneSteps> lists = list_lane_steps({steps[0], steps[0]});
  CHECK(lists[0].name == "rank 0");
  CHECK(lists[0].seconds == std::map<std::string, std::vector<double>>{{"step", {8, 8}},
                                                                       {"backward", {3, 3}},
                                                                       {"exposed communication", {2, 2}},
                                                                       {"waiting for rank 1", {3, 3}},
                                                                       {"link", {1, 1}}});
}

TEST_CASE("the anatomy of several steps is their mean", "[compare]") {
  const std::vector<TraceEvent> events = {phase("forward", 0, 0, 1), phase("forward", 0, 10, 13)};
  const Lane lane = compute_time_breakdown(events, {{{0, 2}, {10, 14}}}, {"cpu:0"}).at(0);
  CHECK(lane.step == 3);
  CHECK(lane.phases.at("forward") == 2);
  CHECK(lane.unattributed == 1);
}

TEST_CASE("memory by cause: by phase, by owner, and what was there before", "[compare]") {
  const Device cpu(kCPU, 0), other(kCPU, 1);
  int blocks[4];
  const std::vector<detail::MemoryEvent> events = {
      {1, cpu, &blocks[0], 100, "replicate"},                                         // owned before: a parameter
      {2, cpu, &blocks[1], 10, "forward"},                                            // freed before the step
      {3, cpu, &blocks[1], -10, "backward"},   {10, cpu, &blocks[1], 40, "forward"},  // allocated within the step
      {11, other, &blocks[3], 999, "forward"}, {12, cpu, &blocks[2], 5, nullptr},
      {13, cpu, &blocks[1], -40, "backward"},  {14, cpu, &blocks[1], 7, "backward"},  // owned at the end of the step
      {30, cpu, &blocks[2], -5, nullptr}};                                            // freed after the step
  const Memory memory =
      attribute_memory(events, cpu, {9, 20}, 1000, {{&blocks[0], "parameters"}, {&blocks[1], "gradients"}});
  CHECK(memory.peak == 1145);
  CHECK(memory.at_peak ==
        std::map<std::string, int64_t>{{"activations", 40}, {"input", 1000}, {"parameters", 100}, {"workspace", 5}});
  CHECK(memory.seconds == std::vector<double>{0, 1, 3, 4, 5, 11});
  CHECK(memory.over_time.at("gradients") == std::vector<int64_t>{0, 0, 0, 0, 7, 7});
  CHECK(memory.over_time.at("activations") == std::vector<int64_t>{0, 40, 40, 0, 0, 0});
}

TEST_CASE("gradients of the outputs are memory of the outputs, on the first device and where they are sent",
          "[compare]") {
  const Device cpu(kCPU, 0), other(kCPU, 1);
  int blocks[5];
  const std::vector<detail::MemoryEvent> events = {{1, cpu, &blocks[0], 1, "scatter"},
                                                   {2, cpu, &blocks[1], 10, "gather"},
                                                   {4, cpu, &blocks[2], 100, "backward"},
                                                   {6, other, &blocks[3], 1000, "scatter"},
                                                   {7, cpu, &blocks[4], 10000, "backward"}};
  StepTimes step{0, 9};
  step.outputs_done = 5;
  using Bytes = std::map<std::string, int64_t>;
  CHECK(attribute_memory(events, cpu, step, 0, {}).at_peak ==
        Bytes{{"activations", 10000}, {"input", 1}, {"outputs", 110}});
  CHECK(attribute_memory(events, other, step, 0, {}).at_peak == Bytes{{"input", 0}, {"outputs", 1000}});
  step.outputs_done = 0;  // the replicas compute the loss
  CHECK(attribute_memory(events, cpu, step, 0, {}).at_peak ==
        Bytes{{"activations", 10100}, {"input", 1}, {"outputs", 10}});
  CHECK(attribute_memory(events, other, step, 0, {}).at_peak == Bytes{{"input", 1000}});
}

TEST_CASE("intervals hold the median with 95 % by ranks", "[compare]") {
  const auto to = [](int n) {
    std::vector<double> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 1);
    return compute_confidence_interval(values);
  };
  // By the binomial distribution, the interval of 6 values leaves out none (3.1 %), of 9 values one on each side
  // (3.9 %), of 20 values five (4.1 %).
  CHECK(to(6).low == 1);
  CHECK(to(6).high == 6);
  CHECK(to(9).low == 2);
  CHECK(to(9).high == 8);
  CHECK(to(20).low == 6);
  CHECK(to(20).high == 15);
  // Checks each n against exact binomial coefficients: at most 2.5 % of the 2^n outcomes have fewer than k heads.
  for (int n = 6; n <= 40; ++n) {
    int64_t ways = 1, fewer = 0;  // n over k, and the sum of n over j for all j < k
    int k = 0;
    for (; 40 * (fewer + ways) <= (int64_t{1} << n); ++k) {
      fewer += ways;
      ways = ways * (n - k) / (k + 1);
    }
    CAPTURE(n);
    CHECK(to(n).low == k);
    CHECK(to(n).high == n + 1 - k);
  }
  CHECK(to(9).median == 5);
  // With fewer than six values even the largest interval misses the median too often: there is none.
  for (int n = 0; n < 6; ++n) {
    CAPTURE(n);
    CHECK(!to(n).is_valid());
    CHECK(std::isnan(to(n).low));
    CHECK(to(n).n == n);
    CHECK(to(n).needed == 6);
  }
  CHECK(min_num_values(0.05 / 17) == 10);
  CHECK(compute_confidence_interval({1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.05 / 17).is_valid() == false);
  CHECK(compute_confidence_interval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.05 / 17).low == 1);
  CHECK(compute_confidence_interval({}).median == 0);
  CHECK(percentile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(percentile({1, 2}, 1) == 2);
}

TEST_CASE("bytes equal their formulas, lanes add up, and memory by cause is the allocator's", "[compare]") {
  const int devices = GENERATE(2, 3);
  for (const char* const key : {"single", "dp", "dp_persistent", "dp_loss", "ddp_local", "ddp_local_naive"})
    for (const char* const model : {"mlp", "lenet"}) {
      CAPTURE(key, devices, model);
      const Mode mode = find_mode(key);
      const Job job = small_job(mode.kind == Mode::Kind::single ? 1 : devices, model);
      const Sample sample = run_sample(mode, job);
      for (const TransferTotals& row : list_transfers(mode, job, sample)) {
        CAPTURE(row.what, row.link);
        CHECK(row.bytes == row.formula_bytes);
        CHECK(row.bytes > 0);
      }
      for (const Lane& lane : lanes_of(mode, job, sample)) {
        CHECK(std::abs(total_seconds(lane) - lane.step) < 1e-9 * lane.step + 1e-12);
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

TEST_CASE("the step that is shown is the one of median duration on the first lane, for all ranks", "[compare]") {
  for (const char* const key : {"dp", "ddp_local"}) {
    Job job = small_job(2);
    job.steps = 6;
    const Sample sample = run_sample(find_mode(key), job);
    std::vector<double> seconds = sample.seconds();
    REQUIRE(seconds.size() == 6);
    const double shown = seconds.at(static_cast<size_t>(sample.ranks[0].shown_step));
    std::sort(seconds.begin(), seconds.end());
    CHECK(shown == seconds[2]);
    for (const RankSample& rank : sample.ranks) CHECK(rank.shown_step == sample.ranks[0].shown_step);
  }
}

TEST_CASE("less than a fiftieth of a step belongs to no phase", "[compare]") {
  for (const char* const key : {"single", "dp", "dp_persistent", "dp_loss", "ddp_local", "ddp_local_naive"}) {
    const Mode mode = find_mode(key);
    Job job = small_job(mode.kind == Mode::Kind::single ? 1 : 2, "lenet");
    job.batch = 256, job.steps = 4;
    for (const Lane& lane : lanes_of(mode, job, run_sample(mode, job))) {
      CAPTURE(key, lane.name, lane.unattributed, lane.step);
      CHECK(lane.unattributed < 0.02 * lane.step);
    }
  }
}

TEST_CASE("a mode trains the same model as its reference on one device, to the bit", "[compare]") {
  for (const char* const key : {"dp", "dp_persistent", "dp_loss", "ddp_local", "ddp_local_naive"}) {
    CAPTURE(key);
    Job job = small_job(2);
    job.trace = false, job.for_reference_comparison = true, job.warmup = 0, job.steps = 5;
    const RankSample mine = run_sample(find_mode(key), job).ranks.at(0), reference = run_reference(find_mode(key), job);
    REQUIRE(mine.parameters.size() > 100000);
    CHECK(mine.parameters == reference.parameters);
  }
}

TEST_CASE("a mode that parts from its reference is told with the first operation that does", "[compare]") {
  const std::vector<Fingerprint> reference = {{0, "matmul", 1}, {0, "relu", 2}, {1, "matmul", 3}, {1, "relu", 4}};
  CHECK(first_difference(reference, reference) == "");
  // Copies, ops that the reference does not have, and a different order are not reported as differences.
  CHECK(first_difference({{0, "copy", 9}, {0, "gather", 9}, {0, "relu", 2}, {0, "matmul", 1}}, reference) == "");
  CHECK(first_difference({{0, "matmul", 1}, {0, "relu", 2}, {1, "matmul", 3}, {1, "relu", 5}}, reference) ==
        "relu, step 2");
  // A sum over the ranks has no counterpart in the reference. A later op that reads other gradients got wrong sums.
  const std::vector<Fingerprint> steps = {{0, "matmul", 1, 10}, {0, "add", 5, 11}};
  CHECK(first_difference({{0, "matmul", 1, 10}, {0, "combine", 8, 0}, {0, "add", 6, 12}}, steps) ==
        "all_reduce, step 1");
  CHECK(first_difference({{0, "matmul", 1, 10}, {0, "combine", 8, 0}, {0, "add", 6, 11}}, steps) == "add, step 1");
  CHECK(first_difference({{0, "combine", 8, 0}, {0, "matmul", 2, 9}, {0, "combine", 8, 0}}, steps) == "matmul, step 1");
  // Real steps are equal in every mode. With other initial values the first product differs.
  Job job = small_job(2);
  job.trace = false, job.for_reference_comparison = true, job.fingerprints = true, job.warmup = 0, job.steps = 2;
  for (const char* const key : {"dp_loss", "ddp_local"}) {
    CAPTURE(key);
    const std::vector<Fingerprint> mine = run_sample(find_mode(key), job).ranks.at(0).fingerprints;
    CHECK(mine.size() > 20);
    CHECK(first_difference(mine, run_reference(find_mode(key), job).fingerprints) == "");
    Job other = job;
    other.seed = job.seed + 1;
    CHECK(first_difference(mine, run_reference(find_mode(key), other).fingerprints) == "matmul, step 1");
  }
}

TEST_CASE("what communication adds is judged beside two guesses that need no model", "[compare]") {
  const auto overhead = [](int devices, double measured, double predicted) {
    Overhead o{"mlp", "local", devices, 2, 128, 128, {}, {}};
    o.measured = {measured, measured - 0.001, measured + 0.001, 6, 6};
    o.predicted = {predicted, predicted, predicted};
    return o;
  };
  CHECK(describe_skill({}).empty());
  CHECK(describe_skill({overhead(2, 0.01, 0.01)}).empty());  // points used for the fit are not counted
  const std::string good = describe_skill({overhead(2, 0.01, 0.01), overhead(4, 0.02, 0.0205)}).at(0);
  CHECK_THAT(good, Contains("off by 500 µs in the mean") && Contains("\"nothing\" is off by 20.0 ms") &&
                       Contains("by 10.0 ms") && Contains("So it has skill here."));
  CHECK_THAT(good, Contains("1 of the 1 measured intervals contain the prediction"));
  CHECK_THAT(describe_skill({overhead(2, 0.01, 0.01), overhead(4, 0.011, 0.03)}).at(0), Contains("no skill here"));
  Overhead few = overhead(4, 0.02, 0.02);
  few.measured = compute_confidence_interval({0.01, 0.02, 0.03});
  CHECK_THAT(describe_skill({overhead(2, 0.01, 0.01), few}).at(0), Contains("no intervals, which need 6 repeats"));
}

TEST_CASE("steps are timed with a trace and without, in turn", "[compare]") {
  Job job = small_job(1);
  const TracedSteps steps = alternate_tracing(job, 20);
  CHECK(steps.traced.size() == 20);
  CHECK(steps.untraced.size() == 20);
  for (const std::vector<double>& seconds : {steps.traced, steps.untraced})
    for (const double s : seconds) CHECK(s > 0);
  CHECK(!detail::current_tracer());
}
