// Implements compare_modes(): paired ratios of step times, with intervals corrected for the number of comparisons.
#include "tandem/tools/compare/comparison.h"

#include <algorithm>
#include <cmath>

#include "tandem/tools/compare/runs.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

double corrected_significance_level(size_t num_modes, int looks) {
  return kSignificanceLevel / (static_cast<double>(std::max<size_t>(num_modes, 1)) * looks);
}

/// Returns seconds of `a` divided by seconds of `b` in the same repeat, over the first n repeats.
Interval paired_ratio(const Run& a, const Run& b, int n, double error) {
  std::vector<double> ratios;
  ratios.reserve(static_cast<size_t>(n));
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) ratios.push_back(a.repeats[i] / b.repeats[i]);
  return compute_confidence_interval(std::move(ratios), error);
}

bool has_step_times(const Run& run) {
  return run.failed.empty() && !run.repeats.empty() &&
         std::all_of(run.repeats.begin(), run.repeats.end(), [](double s) { return s > 0 && std::isfinite(s); });
}

/// Returns the run's place in the order from simple to complicated: one device, DP, DDP; few devices before many.
std::pair<int, int> simplicity_rank(const Run& run) { return {is_single(run) ? 0 : is_dp(run) ? 1 : 2, run.devices}; }

}  // namespace

bool Comparison::is_conclusive() const {
  if (!has_intervals()) return false;
  return !recommended.empty() || std::all_of(speedups.begin(), speedups.end(), [](const Interval& speedup) {
    return speedup.high < 1 + kMinRelevantDifference;
  });
}

Interval Comparison::speedup(const Run* run) const {
  // Without a run on one device, as after Ctrl-C in the first repeat, there are modes but no speedups.
  const auto i = static_cast<size_t>(std::find(modes.begin(), modes.end(), run) - modes.begin());
  return i < speedups.size() ? speedups[i] : Interval();
}

int min_num_repeats(int num_modes, int looks) {
  return min_num_values(corrected_significance_level(static_cast<size_t>(num_modes), looks));
}

Comparison compare_modes(const std::vector<const Run*>& runs, int looks) {
  Comparison out;
  for (const Run* run : runs) {
    if (!has_step_times(*run)) continue;
    if (!is_single(*run))
      out.modes.push_back(run);
    else if (!out.single)
      out.single = run;
  }
  if (!out.single || out.modes.empty()) return out;
  std::stable_sort(out.modes.begin(), out.modes.end(),
                   [](const Run* a, const Run* b) { return simplicity_rank(*a) < simplicity_rank(*b); });
  const double error = corrected_significance_level(out.modes.size(), looks);
  out.needed = min_num_values(error);
  out.n = static_cast<int>(out.single->repeats.size());
  for (const Run* run : out.modes) out.n = std::min(out.n, static_cast<int>(run->repeats.size()));
  out.best = out.single;
  double best_median = 1;
  for (const Run* run : out.modes) {
    out.speedups.push_back(paired_ratio(*out.single, *run, out.n, error));
    if (out.speedups.back().median <= best_median) continue;
    best_median = out.speedups.back().median;
    out.best = run;
  }
  if (!out.has_intervals()) return out;
  const auto add_if_tied_with_best = [&](const Run* run) {
    if (run != out.best && paired_ratio(*run, *out.best, out.n, error).low > 1 + kMinRelevantDifference) return;
    out.tied_with_best.push_back(run);
    if (run != out.single && out.speedup(run).low > 1 + kMinRelevantDifference) out.recommended.push_back(run);
  };
  add_if_tied_with_best(out.single);
  for (const Run* run : out.modes) add_if_tied_with_best(run);
  return out;
}

Comparison compare_modes(const Report& report, const std::string& model, int64_t batch) {
  std::vector<const Run*> runs;
  for (const Run& run : report.runs)
    if (run.model == model && run.batch == batch && run.scaling != "weak" && run.speedup.n > 0) runs.push_back(&run);
  const auto repeats = std::find_if(report.repeats.begin(), report.repeats.end(),
                                    [&](const Repeats& entry) { return entry.model == model; });
  return compare_modes(runs, repeats == report.repeats.end() ? 1 : repeats->looks);
}

}  // namespace tandem::tools::compare
