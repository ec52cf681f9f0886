// Cost model of a link: latency and bandwidth, presets of known links, and a fit to measurements.
#pragma once
#include <string>
#include <vector>

namespace tandem::simulate {

/// A link, on which a message of S bytes takes latency + S / bandwidth seconds.
struct Link {
  double latency = 0;    ///< seconds before the first byte arrives; 0 or more
  double bandwidth = 0;  ///< bytes per second in one direction; more than 0
  /// Seconds that a device takes to copy and add a byte of an all-reduce, for any number of devices; 0 or more.
  double per_byte = 0;
  /// Returns the seconds that a message of `bytes` takes.
  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// A kind of link, with figures of its standard or vendor. The bandwidth is nominal, in one direction.
struct NamedLink {
  const char* name;
  const char* description;
  Link link;
};
/// Returns PCIe, NVLink, Ethernet and InfiniBand links of several generations; docs/simulate.md names the sources.
const std::vector<NamedLink>& named_links();
/// Fraction of the nominal bandwidth that collectives reach; docs/simulate.md names the source.
constexpr double kUsualEfficiency = 0.8;
/// Returns the link of that name, with `efficiency` times its nominal bandwidth.
/// @throws Error if the name is not in named_links(), or efficiency is outside (0, 1]
Link link_named(const std::string& name, double efficiency = kUsualEfficiency);
/// Checks a link. @param what  name of the link in the message, such as "inside"
/// @throws Error unless latency and per_byte are finite and not negative, and the bandwidth finite and positive
void check_link(const Link& link, const std::string& what);

/// The measured time of a message, or of a collective over several devices.
struct LinkPoint {
  double bytes = 0, seconds = 0;
  int devices = 2;
};
/// A fitted link, and the median and largest |fitted / measured - 1| over the points.
struct LinkFit {
  Link link;
  double median_error = 0, largest_error = 0;
};
/// Fits latency and bandwidth to single messages, seconds = latency + bytes / bandwidth, by least squares of the
/// relative error. Neither becomes negative. @throws Error if there are fewer than two sizes, or a time or size is not
/// positive
LinkFit fit_link(const std::vector<LinkPoint>& points);
/// Fits latency and bandwidth to ring all-reduces: seconds = 2 (n - 1) (latency + bytes / (n bandwidth)), n = devices.
LinkFit fit_ring(const std::vector<LinkPoint>& points);
/// Fits also link.per_byte: seconds = 2 (n - 1) (latency + bytes / (n bandwidth)) + bytes per_byte. The points must
/// have different numbers of devices; with only one, per_byte cannot be told from a lower bandwidth.
LinkFit fit_ring_with_copies(const std::vector<LinkPoint>& points);

}  // namespace tandem::simulate
