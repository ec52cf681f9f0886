// Classifies and names runs, for the table, the page and the comparison of reports.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Return whether a run used one device, DataParallel or DDP. The mode's key tells: "single", "dp...",
/// "ddp_BACKEND...".
bool is_single(const Run& run);
bool is_dp(const Run& run);
bool is_ddp(const Run& run);
/// Returns whether the run used a DP mode that computes the loss in the replicas. The key of such a mode contains
/// "loss".
bool computes_loss_in_replicas(const Run& run);
/// Returns a job's name, such as "mlp, 2 devices, batch 128".
std::string job_name(const Run& run);
/// Rewrites a run's label so that it can stand inside a sentence: "DP, x" becomes "DP (x)", and "DDP, x" becomes "DDP
/// (x)".
std::string format_label(const std::string& label);
/// Formats an interval as "1.84 (1.80 to 1.88)", or as "1.84 (n = 3: no interval)", with `unit` after the median.
std::string format_with_interval(const Interval& interval, const std::string& unit = "");
/// Format the ends of an interval for neighbouring cells of a table, which say "n = 3" and "no interval" if it does not
/// exist.
template <class Format> std::string format_low(const Interval& interval, Format format) {
  return interval.is_valid() ? format(interval.low) : "n = " + std::to_string(interval.n);
}
template <class Format> std::string format_high(const Interval& interval, Format format) {
  return interval.is_valid() ? format(interval.high) : "no interval";
}

}  // namespace tandem::tools::compare
