// Implements diagnose(): derives from each run's traced steps why the run is slow. A diagnosis is made only if its
// cause is large enough at the lower end of an interval that allows for the differences between steps.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <sstream>

#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

using StepValues = std::vector<double>;  // one value for each traced step

constexpr double kMinStepFraction = 0.2;  // smallest fraction of a step that a diagnosed cause must take
constexpr double kMinContention = 0.15;   // smallest fraction of a step without a core that counts as contention
constexpr double kMinCores = 0.25;        // smallest number of cores used by other programs that counts as contention
constexpr size_t kMinSteps = 5;

std::string format_ms(double seconds) {
  std::ostringstream out;
  out.precision(3);
  out << seconds * 1e3 << " ms";
  return out.str();
}
std::string format_percent(double part) { return std::to_string(static_cast<int>(std::lround(part * 100))) + " %"; }

/// Returns sum(part) / sum(whole) with its 98 % interval: the quantiles at 1 % and 99 % of a bootstrap over blocks of
/// consecutive steps. Blocks, because a disturbance of the machine often lasts for several steps. A cause that shows in
/// one block only is absent from more than 1 % of the resamples, so that its lower end is about 0.
Interval bootstrap_ratio(const StepValues& part, const StepValues& whole) {
  constexpr int kResamples = 2000;
  const size_t n = whole.size(), block = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(n))));
  std::mt19937_64 random(1);
  StepValues ratios;
  for (int i = 0; i < kResamples; ++i) {
    double parts = 0, wholes = 0;
    for (size_t taken = 0; taken < n; taken += block) {
      const size_t first = random() % n;
      for (size_t k = first; k < first + block; ++k) {
        parts += part[k % n];
        wholes += whole[k % n];
      }
    }
    ratios.push_back(parts / wholes);
  }
  std::sort(ratios.begin(), ratios.end());
  return {mean(part) / mean(whole), ratios[kResamples / 100], ratios[kResamples - 1 - kResamples / 100]};
}

/// One run's traced steps.
class TracedRun {
 public:
  TracedRun(const Run& run, std::vector<Diagnosis>& out) : run_(run), out_(out) {
    for (size_t l = 0; l < run.steps.size(); ++l) names_.push_back(run.steps[l].name);
    if (names_.empty()) return;
    step_.assign(lane_series(0, "step").size(), 0);
    for (size_t l = 0; l < names_.size(); ++l)
      step_ = add_scaled(step_, lane_series(l, "step"), 1.0 / num_lanes_as_double());
    step_without_core_waits_ = add_scaled(step_, mean_over_lanes("without a core"), -1);
    for (size_t k = 0; k < step_.size(); ++k)
      step_without_core_waits_[k] = std::max(step_without_core_waits_[k], 0.05 * step_[k]);
  }
  size_t num_lanes() const { return names_.size(); }
  double num_lanes_as_double() const { return static_cast<double>(names_.size()); }
  const std::string& name(size_t lane) const { return names_[lane]; }
  const StepValues& step() const { return step_; }
  /// Returns, for each step, the seconds in which the lanes (ranks, or devices of DP) did not wait for a CPU core.
  /// Causes other than contention are compared with it, so that a busy machine does not hide them.
  const StepValues& step_without_core_waits() const { return step_without_core_waits_; }
  bool is_too_short() const { return step_.size() < kMinSteps || mean(step_) <= 0; }

  /// Returns, for each step, the seconds that a lane (rank or device) spent on `what`, a key of LaneSteps::seconds.
  StepValues lane_series(size_t lane, const std::string& what) const {
    const std::map<std::string, StepValues>& seconds = run_.steps[lane].seconds;
    const auto at = seconds.find(what);
    return at != seconds.end() ? at->second : StepValues(static_cast<size_t>(run_.shown_step.of), 0.0);
  }
  StepValues sum_lane_series(size_t lane, const std::vector<std::string>& whats) const {
    StepValues sum(step_.size(), 0.0);
    for (const std::string& what : whats) sum = add_scaled(sum, lane_series(lane, what), 1);
    return sum;
  }
  /// Returns, for each step, the mean over all lanes (ranks or devices) but `except` of the seconds spent on `what`.
  StepValues mean_over_lanes(const std::string& what, size_t except = SIZE_MAX) const {
    StepValues sum(step_.size(), 0.0);
    const double n = num_lanes_as_double() - (except < num_lanes() ? 1 : 0);
    for (size_t l = 0; l < num_lanes(); ++l)
      if (l != except) sum = add_scaled(sum, lane_series(l, what), 1 / n);
    return sum;
  }
  /// Returns, for each step, the minimum over all lanes (ranks or devices) of the seconds spent on `what`.
  StepValues min_over_lanes(const std::string& what) const {
    return min_over_lanes([&](size_t lane) { return lane_series(lane, what); });
  }
  /// Returns, for each step, the seconds that a lane (rank or device) spent on loading batches, without those in which
  /// it waited for a core.
  StepValues loading(size_t lane) const {
    return add_scaled(lane_series(lane, "input"), lane_series(lane, "input without a core"), -1);
  }
  StepValues min_loading() const {
    return min_over_lanes([&](size_t lane) { return loading(lane); });
  }
  /// Returns `cause` without the time in which any device of DP had no core: it is not known which device was delayed.
  StepValues subtract_core_waits(StepValues cause) const {
    for (size_t l = 0; l < num_lanes(); ++l) cause = add_scaled(std::move(cause), lane_series(l, "without a core"), -1);
    return cause;
  }
  /// Returns a + factor * b.
  static StepValues add_scaled(StepValues a, const StepValues& b, double factor) {
    for (size_t k = 0; k < a.size(); ++k) a[k] += factor * b[k];
    return a;
  }
  /// Appends a diagnosis if `cause` takes more than `least` of `whole` at the lower end of its interval.
  /// @param whole  step() or step_without_core_waits()
  /// @param sentence  called with the evidence: "12 ms of a step of 30 ms (...)"
  /// @return whether it appended a diagnosis
  bool diagnose(const char* kind, const StepValues& cause, const StepValues& whole, double least,
                const std::function<std::string(const std::string&)>& sentence) const {
    if (mean(cause) <= least * mean(whole)) return false;
    const Interval share = bootstrap_ratio(cause, whole);
    if (share.low <= least) return false;
    int steps = 0;
    for (size_t k = 0; k < cause.size(); ++k) steps += cause[k] > least * whole[k];
    const int n = static_cast<int>(step_.size());
    const std::string waits = &whole == &step_ ? "" : " without the waits for a core";
    const std::string evidence = format_ms(mean(cause)) + " of a step of " + format_ms(mean(step_)) + " (" +
                                 format_percent(share.median) + waits + ", 98 % interval " + format_percent(share.low) +
                                 " to " + format_percent(share.high) + "; more than " + format_percent(least) + " in " +
                                 std::to_string(steps) + " of " + std::to_string(n) + " traced steps)";
    out_.push_back({kind, sentence(evidence),
                    run_.model + ", " + run_.label + ", " + std::to_string(run_.devices) +
                        (run_.devices == 1 ? " device" : " devices"),
                    share, n});
    return true;
  }

 private:
  StepValues min_over_lanes(const std::function<StepValues(size_t)>& get) const {
    StepValues out = get(0);
    for (size_t l = 1; l < num_lanes(); ++l) {
      const StepValues lane = get(l);
      for (size_t k = 0; k < out.size(); ++k) out[k] = std::min(out[k], lane[k]);
    }
    return out;
  }

  const Run& run_;
  std::vector<Diagnosis>& out_;
  std::vector<std::string> names_;
  StepValues step_, step_without_core_waits_;  // means over the lanes
};

/// Returns, for each step, how much longer the other lanes (ranks or devices) wait for `lane` than it waits for them.
/// Subtracts the time by which `lane` waited longer for a CPU core than the others did, because that is no fault of the
/// lane.
StepValues lateness(const TracedRun& run, size_t lane) {
  StepValues late = run.mean_over_lanes("waiting for " + run.name(lane), lane);
  for (size_t l = 0; l < run.num_lanes(); ++l)
    if (l != lane) late = TracedRun::add_scaled(late, run.lane_series(lane, "waiting for " + run.name(l)), -1);
  const StepValues own = run.lane_series(lane, "without a core"), others = run.mean_over_lanes("without a core", lane);
  for (size_t k = 0; k < late.size(); ++k) late[k] -= std::max(0.0, own[k] - others[k]);
  return late;
}

/// Returns the phase in which a straggler is slower than the others, and how long it waits for a core.
std::string describe_straggler(const TracedRun& run, size_t lane) {
  std::string slowest;
  double longest = 0;
  for (const std::string& phase : kPhases) {
    const double more = mean(run.lane_series(lane, phase)) - mean(run.mean_over_lanes(phase, lane));
    if (phase == "exposed communication" || more <= longest) continue;
    longest = more;
    slowest = phase;
  }
  std::string text;
  if (!slowest.empty())
    text = " Its " + slowest + " takes " + format_ms(mean(run.lane_series(lane, slowest))) + ", that of the others " +
           format_ms(mean(run.mean_over_lanes(slowest, lane))) + ".";
  return text + " It waits for a core for " + format_ms(mean(run.lane_series(lane, "without a core"))) +
         ", the others for " + format_ms(mean(run.mean_over_lanes("without a core", lane))) + ".";
}

void find_straggler(const TracedRun& run, bool dp) {
  const std::string kStop = "waiting for the end of a stop";
  for (size_t lane = dp ? 1 : 0; lane < run.num_lanes(); ++lane) {  // DP's first device has a diagnosis of its own
    const StepValues late = dp ? run.subtract_core_waits(lateness(run, lane)) : lateness(run, lane);
    const std::string start = "The other lanes wait longer for " + run.name(lane) + " than it waits for them";
    // Tests first whether the process was stopped, because a stop is recorded directly, whereas lateness is only
    // inferred.
    const StepValues stopped =
        TracedRun::add_scaled(run.lane_series(lane, kStop), run.mean_over_lanes(kStop, lane), -1);
    const bool is_stopped =
        mean(late) > 0 &&
        run.diagnose("straggler", stopped, run.step(), kMinStepFraction, [&](const std::string& evidence) {
          return start + " (" + format_ms(mean(late)) + "): its process was stopped for " + evidence +
                 ". It neither ran nor waited for a core then.";
        });
    if (is_stopped) continue;
    run.diagnose("straggler", late, run.step_without_core_waits(), kMinStepFraction, [&](const std::string& evidence) {
      return start + ": " + evidence + "." + describe_straggler(run, lane);
    });
  }
}

void find_contention(const TracedRun& traced, const Run& run) {
  const StepValues waits = traced.mean_over_lanes("without a core");
  // Ranks also wait for cores that other ranks use. Other programs are the cause only if they used a good part of the
  // time that was missing.
  const double lost = mean(waits) * traced.num_lanes_as_double(), used = run.cores_of_others * mean(traced.step());
  if (run.cores_of_others < kMinCores || used < 0.5 * lost) return;
  traced.diagnose("contention", waits, traced.step(), kMinContention, [&](const std::string& evidence) {
    std::ostringstream cores;
    cores.precision(2);
    cores << run.cores_of_others;
    return "A lane could run but had no core for " + evidence + ". Other programs used " + cores.str() +
           " cores meanwhile.";
  });
}

void find_slow_link(const TracedRun& traced, const Run& run, const std::vector<LinkProbe>& links) {
  // Blames the link only if it takes at least half of the exposed communication. Otherwise copying, summing and waiting
  // for a core take most of it.
  const StepValues link_time = traced.mean_over_lanes("link"),
                   exposed = traced.mean_over_lanes("exposed communication");
  if (mean(link_time) < 0.5 * mean(exposed)) return;
  std::string backend = run.mode.substr(run.mode.find('_') + 1);
  backend = backend.substr(0, backend.find('_'));
  std::string probe;
  for (const LinkProbe& link : links)
    if (link.name == "all-reduce, " + backend + ", " + std::to_string(run.devices) + " ranks") {
      std::ostringstream out;
      out.precision(3);
      out << " The probe of this link found " << link.bandwidth * 1e-6 << " MB/s and a latency of "
          << format_ms(link.latency) << ".";
      probe = out.str();
    }
  traced.diagnose("link-bound", link_time, traced.step_without_core_waits(), kMinStepFraction,
                  [&](const std::string& evidence) {
                    return "Exposed communication takes " + format_ms(mean(exposed)) +
                           " after the last rank has called it. Meanwhile no rank used a core or waited for one for " +
                           evidence + ": the link is what they wait for." + probe;
                  });
}

/// The other devices always wait for DataParallel's first device. It limits the step if its own tasks take long, or if
/// its forward and backward take longer than theirs.
void find_first_device_bound(const TracedRun& run) {
  run.diagnose(
      "first-device-bound",
      run.subtract_core_waits(run.sum_lane_series(0, {"scatter", "replicate", "gather", "reduce", "optimizer"})),
      run.step(), 0.25, [&](const std::string& evidence) {
        return "The work that only the first device does (scatter, replicate, gather, reduce, optimizer) "
               "takes " +
               evidence + ", while the others wait.";
      });
  const StepValues own = run.sum_lane_series(0, {"forward", "backward"});
  StepValues others(own.size(), 0.0);
  for (const char* const phase : {"forward", "backward"})
    others = TracedRun::add_scaled(others, run.mean_over_lanes(phase, 0), 1);
  if (mean(own) <= 1.5 * mean(others)) return;
  run.diagnose("first-device-bound", run.subtract_core_waits(TracedRun::add_scaled(own, others, -1)), run.step(),
               kMinStepFraction, [&](const std::string& evidence) {
                 return "The first device computes " + format_ms(mean(own)) + " per step, the others " +
                        format_ms(mean(others)) + ": it is slower, and they wait for it. The difference is " +
                        evidence + ".";
               });
}

/// Appends the diagnoses of one run to `out`.
void diagnose(const Run& run, const std::vector<LinkProbe>& links, std::vector<Diagnosis>& out) {
  const TracedRun traced(run, out);
  if (run.steps.empty() || traced.is_too_short()) return;
  const bool dp = run.mode.rfind("dp", 0) == 0;
  // Under DDP, a loader that is slow on one rank only makes that rank a straggler.
  traced.diagnose("data-starved", dp ? traced.loading(0) : traced.min_loading(), traced.step_without_core_waits(),
                  kMinStepFraction,
                  [](const std::string& evidence) { return "Loading the next batch takes " + evidence + "."; });
  traced.diagnose("stopped", traced.min_over_lanes("waiting for the end of a stop"), traced.step_without_core_waits(),
                  kMinStepFraction, [](const std::string& evidence) {
                    return "All lanes were stopped from outside: they neither ran nor waited for a core for " +
                           evidence + ".";
                  });
  find_contention(traced, run);
  if (run.devices < 2) return;
  if (!dp) find_slow_link(traced, run, links);
  if (dp) {
    traced.diagnose("too small", traced.subtract_core_waits(traced.lane_series(0, "waiting for threads to wake up")),
                    traced.step(), kMinContention, [](const std::string& evidence) {
                      return "Waking threads takes " + evidence +
                             ": the work between two synchronizations is too small to split.";
                    });
    find_first_device_bound(traced);
  }
  find_straggler(traced, dp);
}

}  // namespace

void diagnose(Report& report) {
  report.diagnosis.clear();
  for (const Run& run : report.runs) diagnose(run, report.links, report.diagnosis);
}

}  // namespace tandem::tools::compare
