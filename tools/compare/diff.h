// Two reports beside each other: what has become slower, larger or wrong.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

struct Difference {
  int compared = 0;     // runs that both reports have, with the same model, mode, devices, batch and scaling
  int regressions = 0;  // of these
  std::string text;     // a line for each run, a line for each reason, and a summary
};
/// A run regresses if the 95 % interval of its throughput, `after` over `before`, lies below 0.95; if it moves more
/// bytes; if a device's peak is more than 5 % larger; if it does not agree with its reference any more; or if it fails.
/// @throws Error  if the reports have no run in common
Difference diff(const Report& before, const Report& after);

/// The ratio of two throughputs and its 95 % interval, from the seconds per step of each one's repeats: Welch's
/// interval for the difference of the means of their logarithms. Two repeats of each are the least.
Interval throughput_ratio(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace tandem::tools::compare
