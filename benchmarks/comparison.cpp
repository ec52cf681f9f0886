#include "tandem/benchmarks/comparison.h"

#include <algorithm>
#include <cmath>

namespace tandem::benchmarks {
namespace {

bool is_comparable(const CaseResult& row) { return row.samples_by_program.size() == 2; }
double time_ratio(const CaseResult& row, size_t round) {
  return row.samples_by_program[1].seconds[round] / row.samples_by_program[0].seconds[round];
}

}  // namespace

Comparison median_confidence_interval(std::vector<double> ratios) {
  const auto n = static_cast<double>(ratios.size());
  TANDEM_CHECK(ratios.size() >= kMinRounds, "bench: ", ratios.size(),
               " rounds are too few for a confidence interval; accepted: ", kMinRounds, " or more");
  std::sort(ratios.begin(), ratios.end());
  size_t k = 0;
  for (double below = 0;; ++k) {  // `below` is the probability that n coin tosses give at most k heads
    const auto heads = static_cast<double>(k);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(heads + 1) - std::lgamma(n - heads + 1) - n * std::log(2));
    if (below > 0.025) break;
  }
  return {percentile(ratios, 0.5), ratios[k - 1], ratios[ratios.size() - k]};
}

std::optional<Comparison> compare_with_baseline(const CaseResult& row) {
  if (!is_comparable(row)) return {};
  std::vector<double> ratios;
  for (size_t round = 0; round < row.samples_by_program[0].seconds.size(); ++round)
    ratios.push_back(time_ratio(row, round));
  return median_confidence_interval(std::move(ratios));
}

std::optional<Comparison> compare_with_baseline(const std::vector<CaseResult>& rows) {
  const auto count = std::count_if(rows.begin(), rows.end(), is_comparable);
  if (count == 0) return {};
  std::vector<double> means;
  for (size_t round = 0; round < rows[0].samples_by_program[0].seconds.size(); ++round) {
    double sum = 0;
    for (const CaseResult& row : rows)
      if (is_comparable(row)) sum += std::log(time_ratio(row, round));
    means.push_back(std::exp(sum / static_cast<double>(count)));
  }
  return median_confidence_interval(std::move(means));
}

bool is_overhead_benchmark(const CaseResult& row) {
  return row.c.benchmark->name.find("overhead") != std::string::npos;
}

}  // namespace tandem::benchmarks
