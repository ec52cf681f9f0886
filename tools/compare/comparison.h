// Compares the modes of one job with one device and with each other, by statements that hold together.
#pragma once
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// Relative differences below this fraction are not reported as differences.
inline constexpr double kMinRelevantDifference = 0.03;

/// Modes that ran the same job in the same repeats.
struct Comparison {
  const Run* single = nullptr;     // run on one device; null if it has no measurements
  std::vector<const Run*> modes;   // parallel runs that have measurements, the simplest first
  std::vector<Interval> speedups;  // speedup of each of `modes` over one device, paired by repeat
  int n = 0, needed = 0;           // numbers of repeats: completed by all these runs (n), and needed for intervals
  const Run* best = nullptr;       // the run with the best median, which may be `single`
  /// Runs that may be the best, the simplest first: those that are not certainly more than kMinRelevantDifference
  /// slower than `best`. Empty if there are no intervals.
  std::vector<const Run*> tied_with_best;
  /// Runs among the best that are certainly more than kMinRelevantDifference faster than one device, the simplest
  /// first.
  std::vector<const Run*> recommended;
  /// Returns whether there are enough repeats for intervals.
  bool has_intervals() const { return single && !modes.empty() && n >= needed; }
  /// Returns whether the measurement has answered which to use: a parallel mode is recommended, or certainly none is
  /// more than kMinRelevantDifference faster than one device.
  bool is_conclusive() const;
  /// Returns the speedup of a run over one device. A run that was not compared has none.
  Interval speedup(const Run* run) const;
};

/// Returns the number of repeats that compare_modes() needs. @param num_modes  number of parallel modes
/// @param looks  number of times at which the results may end the measurement
int min_num_repeats(int num_modes, int looks);
/// Compares runs of the same model and batch, whose i-th repeats were measured at about the same time. Runs that
/// failed or have no repeats are left out. The intervals of all speedups together hold with a probability of 95 %, and
/// so does the statement that the fastest mode is in `tied_with_best`: each of the comparisons may be wrong with a
/// probability of 5 % divided by their number and by `looks` (Bonferroni's correction).
Comparison compare_modes(const std::vector<const Run*>& runs, int looks);
/// Compares the report's runs of a model at one batch. Leaves out weak scaling.
Comparison compare_modes(const Report& report, const std::string& model, int64_t batch);
/// Returns a sentence if the shown times of a run and of one device divide to a ratio that differs by more than
/// kMinRelevantDifference from the run's speedup, which is paired by repeat; "" otherwise.
std::string describe_unpaired_times(const Report& report);

}  // namespace tandem::tools::compare
