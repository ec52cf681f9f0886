// Kinds and names of runs, for the table, the page and the comparison of reports.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Return whether a run's mode is of a kind, by its key: "single", "dp...", "ddp_BACKEND...".
bool is_single(const Run& run);
bool is_dp(const Run& run);
bool is_ddp(const Run& run);
/// Returns whether the run is of a DP mode that computes the loss inside the replicas: its key contains "loss".
bool has_loss_inside(const Run& run);
/// Returns "mlp, 2 devices, batch 128".
std::string job_name(const Run& run);
/// Rewrites a run's label for use in a sentence: "DP, x" becomes "DP (x)", and "DDP, x" becomes "DDP (x)".
std::string in_words(const std::string& label);
/// Returns "1.84 (1.80 to 1.88)", with `unit` after the median.
std::string with_interval(const Interval& interval, const std::string& unit = "");

}  // namespace tandem::tools::compare
