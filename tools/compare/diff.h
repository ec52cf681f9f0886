// Compares two reports, and finds runs that became slower, use more memory, or no longer agree with their reference.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

struct Difference {
  /// Number of runs in both reports, matched by model, mode, devices, batch and scaling. Runs that failed in the first
  /// report do not count.
  int num_compared_runs = 0;
  int num_regressions = 0;  // number of compared runs that became worse
  std::string text;         // report for the terminal: a line for each run, a line for each regression, and a summary
};
/// Compares the runs of two reports. A run regresses if the 95 % interval of its throughput, `after` over `before`,
/// lies below 0.95; if it moves more bytes; if a device's peak memory is more than 5 % larger; if it agreed with its
/// reference and no longer does; or if it fails.
/// @throws Error if no run can be compared
Difference diff(const Report& before, const Report& after);

/// Returns the ratio of two throughputs and its 95 % interval, from the seconds per step of each repeat: Welch's
/// interval for the difference of the mean logarithms.
/// @throws Error if there are fewer than two repeats of either, or if a time is not positive and finite
Interval throughput_ratio(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace tandem::tools::compare
