// Comparison: decides whether one build is slower than another, from rounds that timed both builds.
#pragma once
#include <optional>

#include "tandem/benchmarks/runner.h"

namespace tandem::benchmarks {

/// Ratio of the baseline's time to this build's time. Above 1, this build is faster.
struct Comparison {
  double ratio;      // median over the rounds
  double low, high;  // ends of an interval that contains the true median with a probability of at least 95 %
  bool is_slower() const { return high < 0.95; }
};
// minimum number of rounds: with fewer, P(smallest <= true median <= largest) is below 95 %
constexpr int kMinRounds = 6;

/// Returns the median of independent values with its 95 % interval. The interval assumes nothing about the
/// distribution: each value lies below the true median with probability 1/2, so the k-th smallest value lies above the
/// median with the probability that n coin tosses give fewer than k heads. The interval goes from the k-th smallest to
/// the k-th largest value, for the largest k that keeps this probability at or below 2.5 %. One disturbed round moves
/// either end by at most one rank.
/// @throws Error if there are fewer than kMinRounds values
Comparison median_confidence_interval(std::vector<double> ratios);
/// Compares the times of one case in all rounds. samples_by_program[0] is this build, samples_by_program[1] the
/// baseline.
/// @return nullopt if the baseline does not have the case
std::optional<Comparison> compare_with_baseline(const CaseResult& row);
/// Compares the builds over all rows: takes, in each round, the geometric mean of the ratios of all rows that the
/// baseline has.
/// @return nullopt if the baseline has none of the rows
std::optional<Comparison> compare_with_baseline(const std::vector<CaseResult>& rows);
/// Returns whether the benchmark of the row measures the overhead of a call rather than the speed of the computation.
bool is_overhead_benchmark(const CaseResult& row);

}  // namespace tandem::benchmarks
