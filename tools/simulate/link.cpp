#include "tandem/tools/simulate/link.h"

#include <algorithm>
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

Link link_named(const std::string& name, double efficiency) {
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
               " s; accepted: 0 or more");
  TANDEM_CHECK(std::isfinite(link.bandwidth) && link.bandwidth > 0, "link ", what, ": bandwidth is ", link.bandwidth,
               " bytes/s; accepted: more than 0");
}

namespace {

/// One equation: time = latency * latencies + bytes / bandwidth.
struct Equation {
  double latencies, bytes, seconds;
};

/// Minimises the sum of ((x latencies + y bytes) / seconds - 1)^2 over latency x >= 0 and y = 1 / bandwidth > 0.
LinkFit fit(const std::vector<Equation>& equations) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const Equation& e : equations) {
    const double u = e.latencies / e.seconds, v = e.bytes / e.seconds;
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  TANDEM_CHECK(determinant > 1e-12 * uu * vv,
               "fit of a link: all points have one size; accepted: points of at least two sizes");
  double x = (u1 * vv - v1 * uv) / determinant, y = (v1 * uu - u1 * uv) / determinant;
  if (x < 0) x = 0, y = v1 / vv;  // the best point on that border
  TANDEM_CHECK(y > 0, "fit of a link: the times do not grow with the sizes, so that no bandwidth fits");
  LinkFit found{{x, 1 / y}};
  std::vector<double> errors;
  errors.reserve(equations.size());
  for (const Equation& e : equations) errors.push_back(std::abs((x * e.latencies + y * e.bytes) / e.seconds - 1));
  std::sort(errors.begin(), errors.end());
  found.largest_error = errors.back();
  const size_t half = errors.size() / 2;
  found.median_error = errors.size() % 2 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  return found;
}

void check_points(const std::vector<LinkPoint>& points) {
  TANDEM_CHECK(points.size() >= 2, "fit of a link: ", points.size(), " points were given; accepted: 2 or more");
  for (const LinkPoint& p : points)
    TANDEM_CHECK(p.bytes > 0 && p.seconds > 0 && p.devices >= 2 && std::isfinite(p.bytes) && std::isfinite(p.seconds),
                 "fit of a link: a point has ", p.bytes, " bytes, ", p.seconds, " s and ", p.devices,
                 " devices; accepted: positive sizes and times, and at least 2 devices");
}

}  // namespace

LinkFit fit_link(const std::vector<LinkPoint>& points) {
  check_points(points);
  std::vector<Equation> equations;
  equations.reserve(points.size());
  for (const LinkPoint& p : points) equations.push_back({1, p.bytes, p.seconds});
  return fit(equations);
}

LinkFit fit_ring(const std::vector<LinkPoint>& points) {
  check_points(points);
  std::vector<Equation> equations;
  equations.reserve(points.size());
  for (const LinkPoint& p : points) {
    const double n = p.devices, messages = 2 * (n - 1);
    equations.push_back({messages, messages * p.bytes / n, p.seconds});
  }
  return fit(equations);
}

}  // namespace tandem::simulate
