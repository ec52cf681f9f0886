// Implements diff(): compares two reports, and finds runs that became slower, use more memory, or no longer agree with
// their reference.
#include "tandem/tools/compare/diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tandem/core/error.h"
#include "tandem/tools/compare/runs.h"
#include "tandem/tools/page/format.h"

namespace tandem::tools::compare {

using namespace page;

namespace {

/// Returns the two-sided 95 % quantile of Student's t distribution. Rounds `degrees_of_freedom`, the degrees of
/// freedom, down to a table entry (at most 30), so the interval is slightly too wide.
double student_t_quantile(double degrees_of_freedom) {
  constexpr std::array<double, 30> kT = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                         2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                         2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  const double row = std::clamp(std::floor(degrees_of_freedom), 1.0, 30.0);
  return kT[static_cast<size_t>(row) - 1];
}

struct Moments {
  double mean = 0, variance_of_mean = 0, degrees_of_freedom = 0;
};
Moments log_moments(const std::vector<double>& seconds) {
  const auto n = static_cast<double>(seconds.size());
  Moments moments;
  for (const double s : seconds) moments.mean += std::log(s) / n;
  for (const double s : seconds) moments.variance_of_mean += std::pow(std::log(s) - moments.mean, 2) / (n - 1) / n;
  moments.degrees_of_freedom = n - 1;
  return moments;
}

bool has_valid_repeats(const std::vector<double>& seconds) {
  return seconds.size() >= 2 &&
         std::all_of(seconds.begin(), seconds.end(), [](double s) { return s > 0 && std::isfinite(s); });
}

/// Returns the ratio of throughputs, computed from the repeats of the two runs. If a run has fewer than two repeats,
/// computes the ratio from the intervals in the reports.
Interval compute_throughput_ratio(const Run& before, const Run& after) {
  if (has_valid_repeats(before.repeats) && has_valid_repeats(after.repeats))
    return throughput_ratio(before.repeats, after.repeats);
  const Interval &a = before.examples_per_second, &b = after.examples_per_second;
  if (!(a.low > 0) || !(b.low > 0)) return {};
  return {b.median / a.median, b.low / a.high, b.high / a.low};
}

int64_t total_transfer_bytes(const Run& run) {
  return std::accumulate(run.transfers.begin(), run.transfers.end(), int64_t(0),
                         [](int64_t sum, const TransferTotals& row) { return sum + row.bytes; });
}
bool matches_reference(const Run& run) {
  return run.agreement[0].largest_difference == 0 && run.agreement[0].first_difference.empty();
}

/// Returns a sentence for each regression of the run: in speed, bytes, memory or agreement, or because it fails.
std::vector<std::string> describe_regressions(const Run& before, const Run& after, const Interval& ratio) {
  if (!after.failed.empty()) return {"it fails now: " + after.failed};
  std::vector<std::string> out;
  if (ratio.high > 0 && ratio.high < 0.95) out.push_back("it is slower");
  if (!before.transfers.empty() && !after.transfers.empty() &&
      total_transfer_bytes(after) > total_transfer_bytes(before))
    out.push_back(str_cat("it moves more: ", format_integer(total_transfer_bytes(after)), " bytes instead of ",
                          format_integer(total_transfer_bytes(before))));
  for (const Memory& now : after.memory)
    for (const Memory& then : before.memory)
      if (now.device == then.device && static_cast<double>(now.peak) > 1.05 * static_cast<double>(then.peak))
        out.push_back(str_cat("the peak of ", now.device, " is larger: ", format_integer(now.peak),
                              " bytes instead of ", format_integer(then.peak)));
  if (!before.agreement.empty() && !after.agreement.empty() && matches_reference(before) && !matches_reference(after))
    out.push_back(str_cat("its parameters differ from those of the reference by ",
                          format_number(after.agreement[0].largest_difference)));
  return out;
}

const Run* find_same_run(const Report& report, const Run& run) {
  for (const Run& other : report.runs)
    if (other.model == run.model && other.mode == run.mode && other.devices == run.devices &&
        other.batch == run.batch && other.scaling == run.scaling)
      return &other;
  return nullptr;
}

}  // namespace

Interval throughput_ratio(const std::vector<double>& before, const std::vector<double>& after) {
  TANDEM_CHECK(
      has_valid_repeats(before) && has_valid_repeats(after),
      "compare: a ratio of throughputs needs two or more repeats before and after, all with positive times; got ",
      before.size(), " repeats before and ", after.size(), " after");
  const Moments a = log_moments(before), b = log_moments(after);
  const double variance = a.variance_of_mean + b.variance_of_mean, ratio = a.mean - b.mean;
  if (variance <= 0) return {std::exp(ratio), std::exp(ratio), std::exp(ratio)};
  const double degrees_of_freedom = variance * variance /
                                    (a.variance_of_mean * a.variance_of_mean / a.degrees_of_freedom +
                                     b.variance_of_mean * b.variance_of_mean / b.degrees_of_freedom);
  const double half = student_t_quantile(degrees_of_freedom) * std::sqrt(variance);
  return {std::exp(ratio), std::exp(ratio - half), std::exp(ratio + half)};
}

Difference diff(const Report& before, const Report& after) {
  Difference difference;
  int missing = 0;
  for (const Run& then : before.runs) {
    const Run* const now = find_same_run(after, then);
    if (!now) ++missing;
    if (!now || !then.failed.empty()) continue;
    ++difference.num_compared_runs;
    const Interval ratio = now->failed.empty() ? compute_throughput_ratio(then, *now) : Interval();
    const std::vector<std::string> worse = describe_regressions(then, *now, ratio);
    difference.num_regressions += !worse.empty();
    difference.text += str_cat(worse.empty() ? "  " : "! ", format_label(then.label), ", ", job_name(then),
                               then.scaling.empty() ? "" : ", ", then.scaling, ": throughput ",
                               ratio.median > 0 ? format_with_interval(ratio, " times") : "unknown", "\n");
    for (const std::string& reason : worse) difference.text += "    " + reason + "\n";
  }
  TANDEM_CHECK(difference.num_compared_runs > 0,
               "compare: the reports have no run in common, with the same model, mode, devices, batch and scaling: ",
               before.runs.size(), " runs before, ", after.runs.size(),
               " after; accepted: reports that share at least one");
  difference.text += str_cat(pluralize(difference.num_compared_runs, "run"), " compared, ",
                             pluralize(difference.num_regressions, "regression"),
                             missing > 0 ? ", " + pluralize(missing, "run") + " not in the second report" : "", "\n");
  return difference;
}

}  // namespace tandem::tools::compare
