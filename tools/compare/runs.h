// The kind of a run's mode, and the names of a run: for the table, the page and the comparison of reports.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// The kinds of modes, by their keys: "single", "dp...", "ddp_<backend>_...".
bool is_single(const Run& run);
bool is_dp(const Run& run);
bool is_ddp(const Run& run);
/// A DP mode that computes the loss inside the replicas: its key has "loss".
bool has_loss_inside(const Run& run);
/// "mlp, 2 devices, batch 128"
std::string job_name(const Run& run);
/// A run's label within a sentence: "DP, x" becomes "DP (x)", and "DDP, x" becomes "DDP (x)".
std::string in_words(const std::string& label);
/// "1.84 (1.80 to 1.88)"
std::string with_interval(const Interval& interval, const std::string& unit = "");

}  // namespace tandem::tools::compare
