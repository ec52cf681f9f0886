// Cost model of a link: latency and bandwidth, values for well-known links, and a fit to measurements.
#pragma once
#include <string>
#include <vector>

namespace tandem::simulate {

/// A link between devices or nodes. A message of S bytes takes latency + S / bandwidth seconds.
struct Link {
  double latency = 0;    ///< seconds before the first byte arrives; 0 or more
  double bandwidth = 0;  ///< bytes per second in one direction; more than 0
  /// Seconds per byte that a device needs in an all-reduce for copying and adding, independent of the number of
  /// devices; 0 or more.
  double per_byte = 0;
  /// Returns the seconds that a message of `bytes` takes.
  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// A kind of link, with values from its standard or vendor. The bandwidth is the nominal one, in one direction.
struct NamedLink {
  const char* name;
  const char* description;
  Link link;
};
/// Returns PCIe, NVLink, Ethernet and InfiniBand links of several generations. docs/simulate.md names the sources.
const std::vector<NamedLink>& named_links();
/// Fraction of the nominal bandwidth that collectives typically reach. docs/simulate.md names the source.
constexpr double kDefaultEfficiency = 0.8;
/// Returns the link with this name, with its nominal bandwidth multiplied by `efficiency`.
/// @throws Error if the name is not in named_links(), or if efficiency is outside (0, 1]
Link find_link(const std::string& name, double efficiency = kDefaultEfficiency);
/// Checks that a link is valid. @param what  name of the link for the error message, such as "inside"
/// @throws Error unless latency and per_byte are finite and not negative, and bandwidth is finite and positive
void check_link(const Link& link, const std::string& what);

/// Measured time of a message (devices is 2), or of a collective over `devices` devices.
struct LinkPoint {
  double bytes = 0, seconds = 0;
  int devices = 2;
};
/// A fitted link, with the median and the largest value of |fitted / measured - 1| over the points.
struct LinkFit {
  Link link;
  double median_error = 0, largest_error = 0;
};
/// Fits latency and bandwidth to the times of single messages, seconds = latency + bytes / bandwidth, by least squares
/// of the relative errors. The fitted values are never negative.
/// @throws Error if there are fewer than two sizes, if a time or size is not positive, if `devices` is less than 2, or
/// if the times do not grow with the sizes. The other fits throw the same errors
LinkFit fit_link(const std::vector<LinkPoint>& points);
/// Fits latency and bandwidth to the times of ring all-reduces over n = `devices`: seconds = 2 (n - 1) * (latency +
/// bytes / (n * bandwidth)).
LinkFit fit_ring(const std::vector<LinkPoint>& points);
/// Like fit_ring, but also fits per_byte: seconds = 2 (n - 1) * (latency + bytes / (n * bandwidth)) + bytes * per_byte.
/// If all points have the same number of devices, per_byte is 0, because a larger per_byte then has the same effect as
/// a lower bandwidth.
LinkFit fit_ring_with_copies(const std::vector<LinkPoint>& points);

}  // namespace tandem::simulate
