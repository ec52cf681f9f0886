// Implements minimize() with the downhill simplex method of Nelder and Mead, run twice.
#include "tandem/tools/simulate/minimize.h"

#include <algorithm>
#include <cmath>

namespace tandem::simulate {
namespace {

/// The search ends once the function values at the corners of the simplex differ by less than this fraction of the
/// least value.
constexpr double kTolerance = 1e-12;

struct SimplexVertex {
  std::vector<double> at;
  double value;
};

/// Returns the point at + t (to - at) on the line through `at` and `to`.
std::vector<double> interpolate(const std::vector<double>& at, const std::vector<double>& to, double t) {
  std::vector<double> found(at.size());
  for (size_t i = 0; i < at.size(); ++i) found[i] = at[i] + t * (to[i] - at[i]);
  return found;
}

std::vector<double> run_nelder_mead(const std::function<double(const std::vector<double>&)>& f,
                                    const std::vector<double>& start, double step, int iterations) {
  const size_t n = start.size();
  std::vector<SimplexVertex> vertices{{start, f(start)}};
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> at = start;
    at[i] += step;
    vertices.push_back({at, f(at)});
  }
  const auto better = [](const SimplexVertex& a, const SimplexVertex& b) { return a.value < b.value; };
  for (int k = 0; k < iterations; ++k) {
    std::stable_sort(vertices.begin(), vertices.end(), better);
    if (vertices[n].value - vertices[0].value <= kTolerance * std::abs(vertices[0].value)) break;
    std::vector<double> centroid(n, 0.0);
    for (size_t c = 0; c < n; ++c)
      for (size_t i = 0; i < n; ++i) centroid[i] += vertices[c].at[i] / static_cast<double>(n);
    SimplexVertex& worst = vertices.back();
    const auto try_at = [&](double t) {
      SimplexVertex vertex{interpolate(centroid, worst.at, t), 0};
      vertex.value = f(vertex.at);
      return vertex;
    };
    SimplexVertex next = try_at(-1);  // the worst corner, reflected through the centroid of the other corners
    if (next.value < vertices[0].value) {
      SimplexVertex further = try_at(-2);
      worst = further.value < next.value ? std::move(further) : std::move(next);
    } else if (next.value < vertices[n - 1].value) {
      worst = std::move(next);
    } else {
      SimplexVertex nearer = try_at(0.5);
      if (nearer.value < worst.value) {
        worst = std::move(nearer);
      } else {
        for (size_t c = 1; c <= n; ++c) {
          vertices[c].at = interpolate(vertices[0].at, vertices[c].at, 0.5);
          vertices[c].value = f(vertices[c].at);
        }
      }
    }
  }
  return std::min_element(vertices.begin(), vertices.end(), better)->at;
}

}  // namespace

std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             double step, int iterations) {
  for (int run = 0; run < 2; ++run) start = run_nelder_mead(f, start, step, iterations);
  return start;
}

}  // namespace tandem::simulate
