// Implements minimize() with the downhill simplex method of Nelder and Mead, run twice.
#include "tandem/tools/simulate/minimize.h"

#include <algorithm>
#include <cmath>

namespace tandem::simulate {
namespace {

/// The search ends once the function values at the corners of the simplex differ by less than this fraction of the
/// least value.
constexpr double kFlat = 1e-12;

struct Corner {
  std::vector<double> at;
  double value;
};

/// Returns the point at + t (to - at) on the line through `at` and `to`.
std::vector<double> towards(const std::vector<double>& at, const std::vector<double>& to, double t) {
  std::vector<double> found(at.size());
  for (size_t i = 0; i < at.size(); ++i) found[i] = at[i] + t * (to[i] - at[i]);
  return found;
}

std::vector<double> descend(const std::function<double(const std::vector<double>&)>& f,
                            const std::vector<double>& start, double step, int iterations) {
  const size_t n = start.size();
  std::vector<Corner> corners{{start, f(start)}};
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> at = start;
    at[i] += step;
    corners.push_back({at, f(at)});
  }
  const auto better = [](const Corner& a, const Corner& b) { return a.value < b.value; };
  for (int k = 0; k < iterations; ++k) {
    std::stable_sort(corners.begin(), corners.end(), better);
    if (corners[n].value - corners[0].value <= kFlat * std::abs(corners[0].value)) break;
    std::vector<double> middle(n, 0.0);
    for (size_t c = 0; c < n; ++c)
      for (size_t i = 0; i < n; ++i) middle[i] += corners[c].at[i] / static_cast<double>(n);
    Corner& worst = corners.back();
    const auto try_at = [&](double t) {
      Corner corner{towards(middle, worst.at, t), 0};
      corner.value = f(corner.at);
      return corner;
    };
    Corner next = try_at(-1);  // the worst corner, reflected through the centroid of the other corners
    if (next.value < corners[0].value) {
      Corner further = try_at(-2);
      worst = further.value < next.value ? std::move(further) : std::move(next);
    } else if (next.value < corners[n - 1].value) {
      worst = std::move(next);
    } else {
      Corner nearer = try_at(0.5);
      if (nearer.value < worst.value) {
        worst = std::move(nearer);
      } else {
        for (size_t c = 1; c <= n; ++c) {
          corners[c].at = towards(corners[0].at, corners[c].at, 0.5);
          corners[c].value = f(corners[c].at);
        }
      }
    }
  }
  return std::min_element(corners.begin(), corners.end(), better)->at;
}

}  // namespace

std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             double step, int iterations) {
  for (int run = 0; run < 2; ++run) start = descend(f, start, step, iterations);
  return start;
}

}  // namespace tandem::simulate
