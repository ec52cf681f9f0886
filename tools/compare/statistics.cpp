// percentile and compute_confidence_interval: order statistics.
#include "tandem/tools/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/core/error.h"

namespace tandem::tools::compare {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

int min_num_values(double error) {
  TANDEM_CHECK(error > 0 && error < 1, "compare: an interval's error is ", error,
               "; accepted: greater than 0 and less than 1");
  // All n values lie on one side of the true median with probability 2 / 2^n.
  int n = 1;
  for (double outside = 1; outside > error; outside /= 2) ++n;
  return n;
}

Interval compute_confidence_interval(std::vector<double> values, double error) {
  Interval out;
  out.n = static_cast<int>(values.size());
  out.needed = min_num_values(error);
  out.median = percentile(values, 0.5);
  if (out.n < out.needed) return out;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // The k-th smallest value lies above the true median with probability sum_{i < k} C(n, i) / 2^n; the k-th largest
  // lies below it with the same probability.
  double outside = std::pow(0.5, static_cast<double>(n)), term = outside;
  size_t k = 0;  // number of values that are dropped at each end of the sorted list
  while (2 * (k + 1) < n) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (2 * (outside + term) > error) break;
    outside += term;
    ++k;
  }
  out.low = values[k];
  out.high = values[n - 1 - k];
  return out;
}

}  // namespace tandem::tools::compare
