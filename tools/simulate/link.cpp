// Lists the named links, and implements fit_link and fit_ring by least squares of relative errors.
#include "tandem/tools/simulate/link.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tandem/core/error.h"

namespace tandem::simulate {

const std::vector<NamedLink>& named_links() {
  // clang-format off
  static const std::vector<NamedLink> links = {
      {"pcie3_x16",      "PCIe 3.0, 16 lanes",                        {10e-6, 15.75e9}},
      {"pcie4_x16",      "PCIe 4.0, 16 lanes",                        {10e-6, 31.5e9}},
      {"pcie5_x16",      "PCIe 5.0, 16 lanes",                        {10e-6, 63.0e9}},
      {"nvlink_v100",    "NVLink 2 of a V100: 6 links of 25 GB/s",    {6e-6, 150e9}},
      {"nvlink_a100",    "NVLink 3 of an A100: 12 links of 25 GB/s",  {6e-6, 300e9}},
      {"nvlink_h100",    "NVLink 4 of an H100: 18 links of 25 GB/s",  {6e-6, 450e9}},
      {"ethernet_10",    "10 gigabit Ethernet",                       {30e-6, 1.25e9}},
      {"ethernet_25",    "25 gigabit Ethernet",                       {30e-6, 3.125e9}},
      {"ethernet_100",   "100 gigabit Ethernet",                      {20e-6, 12.5e9}},
      {"ethernet_200",   "200 gigabit Ethernet",                      {20e-6, 25e9}},
      {"infiniband_hdr", "InfiniBand HDR, 200 Gb/s",                  {8e-6, 25e9}},
      {"infiniband_ndr", "InfiniBand NDR, 400 Gb/s",                  {8e-6, 50e9}},
  };
  // clang-format on
  return links;
}

Link find_link(const std::string& name, double efficiency) {
  TANDEM_CHECK(efficiency > 0 && efficiency <= 1, "link ", name, ": efficiency is ", efficiency,
               "; accepted: more than 0, at most 1");
  std::string names;
  for (const NamedLink& known : named_links()) {
    if (name == known.name) return {known.link.latency, known.link.bandwidth * efficiency};
    names += names.empty() ? "" : ", ";
    names += known.name;
  }
  TANDEM_FAIL("there is no link named ", name, "; accepted: ", names);
}

void check_link(const Link& link, const std::string& what) {
  TANDEM_CHECK(std::isfinite(link.latency) && link.latency >= 0, "link ", what, ": latency is ", link.latency,
               " s; accepted: a finite number of 0 or more");
  TANDEM_CHECK(std::isfinite(link.bandwidth) && link.bandwidth > 0, "link ", what, ": bandwidth is ", link.bandwidth,
               " bytes/s; accepted: a finite number above 0");
  TANDEM_CHECK(std::isfinite(link.per_byte) && link.per_byte >= 0, "link ", what, ": per_byte is ", link.per_byte,
               " s; accepted: a finite number of 0 or more");
}

namespace {

/// One measurement: seconds = latency * factors[0] + factors[1] / bandwidth + per_byte * factors[2].
struct Equation {
  std::array<double, 3> coefficients;
  double seconds;
};
using Unknowns = std::array<double, 3>;

/// Returns the sum of the squared relative errors. @param x  latency, 1 / bandwidth, per_byte
double sum_squared_errors(const std::vector<Equation>& equations, const Unknowns& x) {
  double sum = 0;
  for (const Equation& e : equations)
    sum +=
        std::pow((x[0] * e.coefficients[0] + x[1] * e.coefficients[1] + x[2] * e.coefficients[2]) / e.seconds - 1, 2);
  return sum;
}

/// Finds the unknowns that minimise sum_squared_errors(). Unknowns whose entry in `used` is false are fixed at 0.
/// Solves the normal equations by elimination.
/// @return false if the equations do not determine the unknowns
bool solve_normal_equations(const std::vector<Equation>& equations, const std::array<bool, 3>& used, Unknowns& x) {
  double a[3][4] = {};
  for (const Equation& e : equations)
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) a[i][j] += e.coefficients[i] * e.coefficients[j] / (e.seconds * e.seconds);
      a[i][3] += e.coefficients[i] / e.seconds;
    }
  for (size_t i = 0; i < 3; ++i) {
    if (used[i]) continue;
    for (size_t j = 0; j < 4; ++j) a[i][j] = 0;
    for (size_t j = 0; j < 3; ++j) a[j][i] = 0;
    a[i][i] = 1;
  }
  // Elimination without pivoting, because the matrix is symmetric and positive semidefinite.
  for (size_t i = 0; i < 3; ++i) {
    if (!(a[i][i] > 0)) return false;
    for (size_t k = i + 1; k < 3; ++k) {
      const double diagonal = a[k][k], factor = a[k][i] / a[i][i];
      for (size_t j = i; j < 4; ++j) a[k][j] -= factor * a[i][j];
      if (used[k] && a[k][k] < 1e-10 * diagonal) return false;
    }
  }
  for (size_t i = 3; i-- > 0;) {
    double rest = a[i][3];
    for (size_t j = i + 1; j < 3; ++j) rest -= a[i][j] * x[j];
    x[i] = rest / a[i][i];
  }
  return true;
}

/// Finds the best latency >= 0, 1 / bandwidth > 0 and, if `with_copies`, per_byte >= 0. Tries all combinations of
/// fixing latency and per_byte at 0, and keeps the best one.
LinkFit fit_equations(const std::vector<Equation>& equations, bool with_copies) {
  Unknowns best{};
  double least = INFINITY;
  for (const bool latency : {true, false})
    for (const bool copies : {true, false}) {
      Unknowns x{};
      if ((copies && !with_copies) || !solve_normal_equations(equations, {latency, true, copies}, x)) continue;
      if (x[0] < 0 || x[1] <= 0 || x[2] < 0) continue;
      if (const double sum = sum_squared_errors(equations, x); sum < least) {
        least = sum;
        best = x;
      }
    }
  TANDEM_CHECK(std::isfinite(least),
               "fit of a link: the times do not grow with the sizes, so no bandwidth can be fitted; accepted: points "
               "whose times grow");
  LinkFit found{{best[0], 1 / best[1], best[2]}};
  std::vector<double> errors;
  errors.reserve(equations.size());
  for (const Equation& e : equations) errors.push_back(std::sqrt(sum_squared_errors({e}, best)));
  std::sort(errors.begin(), errors.end());
  found.largest_error = errors.back();
  const size_t half = errors.size() / 2;
  found.median_error = errors.size() % 2 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  return found;
}

void check_points(const std::vector<LinkPoint>& points) {
  TANDEM_CHECK(points.size() >= 2, "fit of a link: ", points.size(), " points were given; accepted: 2 or more");
  const auto same_size = [&](const LinkPoint& p) { return p.bytes == points[0].bytes; };
  TANDEM_CHECK(!std::all_of(points.begin(), points.end(), same_size),
               "fit of a link: all points have the same size; accepted: points of at least two sizes");
  for (const LinkPoint& p : points)
    TANDEM_CHECK(p.bytes > 0 && p.seconds > 0 && p.devices >= 2 && std::isfinite(p.bytes) && std::isfinite(p.seconds),
                 "fit of a link: a point has ", p.bytes, " bytes, ", p.seconds, " s and ", p.devices,
                 " devices; accepted: positive sizes and times, and at least 2 devices");
}

LinkFit fit_ring(const std::vector<LinkPoint>& points, bool with_copies) {
  check_points(points);
  std::vector<Equation> equations;
  equations.reserve(points.size());
  for (const LinkPoint& p : points) {
    const double n = p.devices, messages = 2 * (n - 1);
    equations.push_back({{messages, messages * p.bytes / n, p.bytes}, p.seconds});
  }
  return fit_equations(equations, with_copies);
}

}  // namespace

LinkFit fit_link(const std::vector<LinkPoint>& points) {
  check_points(points);
  std::vector<Equation> equations;
  equations.reserve(points.size());
  for (const LinkPoint& p : points) equations.push_back({{1, p.bytes, 0}, p.seconds});
  return fit_equations(equations, /*with_copies=*/false);
}

LinkFit fit_ring(const std::vector<LinkPoint>& points) { return fit_ring(points, /*with_copies=*/false); }

LinkFit fit_ring_with_copies(const std::vector<LinkPoint>& points) { return fit_ring(points, /*with_copies=*/true); }

}  // namespace tandem::simulate
