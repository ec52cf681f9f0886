// percentile and interval_of: order statistics.
#include "tandem/tools/compare/statistics.h"

#include <algorithm>
#include <cmath>

namespace tandem::tools::compare {

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Interval interval_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // The k-th smallest value lies above the true median with probability sum_{i < k} C(n, i) / 2^n; the k-th largest
  // lies below it with the same probability.
  double outside = std::pow(0.5, static_cast<double>(n)), term = outside;
  size_t k = 0;  // number of values that are dropped at each end of the sorted list
  while (true) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (2 * (outside + term) > 0.05 || 2 * (k + 1) >= n) break;
    outside += term;
    ++k;
  }
  return {percentile(values, 0.5), values[k], values[n - 1 - k]};
}

}  // namespace tandem::tools::compare
