// Whether one build is slower than another, from rounds in which both were timed.
#pragma once
#include <optional>

#include "tandem/benchmarks/runner.h"

namespace tandem::benchmarks {

/// The baseline's time over this build's: above 1, this build is faster.
struct Comparison {
  double ratio;      // the median of the rounds' ratios
  double low, high;  // the interval that holds the true median with a probability of 95 % or more
  bool is_slower() const { return high < 0.95; }
};
constexpr int kFewestRounds = 6;  // of fewer, not even the smallest and the largest enclose the median so often

/// The median of independent values with its interval, by ranks: whatever their distribution, each is below the true
/// median with probability 1/2, so the k-th smallest is above it with the probability that fewer than k of n throws of
/// a coin are heads. The interval reaches from the k-th smallest to the k-th largest value, for the largest k for which
/// that probability is at most 2.5 %. One round that was disturbed moves neither end by more than a rank.
/// @throws Error when there are fewer than kFewestRounds
Comparison median_interval(std::vector<double> ratios);
/// The rounds of one row, of which programs[0] is this build and programs[1] the baseline; nothing where the baseline
/// lacks the case.
std::optional<Comparison> compare(const Row& row);
/// The geometric mean over all rows that can be compared, taken in each round; nothing where there are none.
std::optional<Comparison> compare(const std::vector<Row>& rows);
/// Whether the row times the cost of a call rather than its work.
bool is_overhead(const Row& row);

}  // namespace tandem::benchmarks
