// Implements diagnose(): derives from each run's time breakdown why the run is slow.
#include <map>
#include <sstream>

#include "tandem/tools/compare/compare.h"

namespace tandem::tools::compare {
namespace {

std::string ms(double seconds) {
  std::ostringstream out;
  out.precision(3);
  out << seconds * 1e3 << " ms";
  return out.str();
}
std::string percent(double phase_fraction) {
  return std::to_string(static_cast<int>(phase_fraction * 100 + 0.5)) + " %";
}

double phase_fraction(const Lane& lane, const char* phase) {
  const auto at = lane.phases.find(phase);
  return at == lane.phases.end() || lane.step <= 0 ? 0 : at->second / lane.step;
}

/// Appends the diagnoses of one run to `out`, derived from run.lanes.
void diagnose(const Run& run, std::vector<Diagnosis>& out) {
  if (run.lanes.empty()) return;
  const std::string row =
      run.model + ", " + run.label + ", " + std::to_string(run.devices) + (run.devices == 1 ? " device" : " devices");
  const auto add = [&](const char* kind, const std::string& sentence) { out.push_back({kind, sentence, row}); };
  double input = 0, exposed = 0, step = 0;
  std::map<std::string, double> waited_for;
  for (const Lane& lane : run.lanes) {
    const auto n = static_cast<double>(run.lanes.size());
    input += phase_fraction(lane, "input") / n;
    exposed += phase_fraction(lane, "exposed communication") / n;
    step += lane.step / n;
    for (const auto& [name, seconds] : lane.waiting_for) waited_for[name] += seconds;
  }
  if (input > 0.2)
    add("data-starved", "Loading the next batch takes " + percent(input) + " of a step of " + ms(step) + ".");
  if (run.devices < 2) return;
  if (const double threads = waited_for["threads to wake up"]; threads > 0.15 * step)
    add("too small", "Waking threads takes " + percent(threads / step) + " of a step of " + ms(step) +
                         ": the work between two synchronizations is too small to split.");
  const bool dp = run.mode.rfind("dp", 0) == 0;
  const Lane& first = run.lanes[0];
  const double master = phase_fraction(first, "scatter") + phase_fraction(first, "replicate") +
                        phase_fraction(first, "gather") + phase_fraction(first, "reduce") +
                        phase_fraction(first, "optimizer");
  if (exposed > 0.2)
    add("link-bound", "Exposed communication takes " + percent(exposed) + " of a step of " + ms(step) + ".");
  if (dp && master > 0.25)
    add("first-device-bound",
        "The work that only the first device does (scatter, replicate, gather, reduce, optimizer) takes " +
            percent(master) + " of a step of " + ms(first.step) + ", while the others wait.");
  // A lane is a straggler if the other lanes wait longer for it than it waits for them.
  const auto others = static_cast<double>(run.lanes.size() - 1);
  for (const Lane& lane : run.lanes) {
    double own = 0;
    for (const auto& [name, seconds] : lane.waiting_for) own += seconds;
    const double excess = waited_for[lane.name] / others - own;
    if (!(dp && lane.name == first.name) && excess > 0.2 * step)
      add("straggler",
          "The other lanes wait " + ms(excess) + " longer in each step for " + lane.name + " than it waits for them.");
  }
  if (dp) {
    // The other devices always wait for DataParallel's first device. It is a straggler only if its own forward and
    // backward take longer than theirs.
    double forward = 0, count = 0;
    for (size_t l = 1; l < run.lanes.size(); ++l) {
      forward += phase_fraction(run.lanes[l], "forward") * run.lanes[l].step +
                 phase_fraction(run.lanes[l], "backward") * run.lanes[l].step;
      ++count;
    }
    const double own = (phase_fraction(first, "forward") + phase_fraction(first, "backward")) * first.step;
    if (own > 1.5 * forward / count && own - forward / count > 0.2 * first.step)
      add("first-device-bound", "The first device computes " + ms(own) + " per step, the others " +
                                    ms(forward / count) + ": it is slower, and they wait for it.");
  }
}

}  // namespace

void diagnose(Report& report) {
  report.diagnosis.clear();
  for (const Run& run : report.runs) diagnose(run, report.diagnosis);
}

}  // namespace tandem::tools::compare
