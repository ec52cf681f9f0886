// What a message costs on a link: a latency and a bandwidth, named ones, and a fit of both to measurements.
#pragma once
#include <string>
#include <vector>

namespace tandem::simulate {

/// A message of S bytes takes latency + S / bandwidth seconds.
struct Link {
  double latency = 0;    ///< seconds before the first byte arrives; 0 or more
  double bandwidth = 0;  ///< bytes per second in one direction; more than 0
  /// Seconds that a device takes to copy and add each byte of an all-reduce, however many devices there are; 0 or more.
  double per_byte = 0;
  /// How long a message of this many bytes takes.
  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// A kind of link as its standard or vendor describes it. The bandwidth is the nominal one of one direction.
struct NamedLink {
  const char* name;
  const char* description;
  Link link;
};
/// PCIe, NVLink, Ethernet and InfiniBand of several generations; docs/simulate.md names the sources.
const std::vector<NamedLink>& named_links();
/// The share of the nominal bandwidth that collectives reach; docs/simulate.md says where the figure comes from.
constexpr double kUsualEfficiency = 0.8;
/// The link of that name, with `efficiency` times its nominal bandwidth.
/// @throws Error for a name that is not in named_links(), and for an efficiency outside (0, 1]
Link link_named(const std::string& name, double efficiency = kUsualEfficiency);
/// @param what  names the link in the message, such as "inside"
/// @throws Error unless latency and per_byte are finite and not negative, and the bandwidth finite and positive
void check_link(const Link& link, const std::string& what);

/// A measured message, or a measured collective of n devices.
struct LinkPoint {
  double bytes = 0, seconds = 0;
  int devices = 2;
};
/// What a fit found, and how far from it the points lie: |fitted / measured - 1|.
struct LinkFit {
  Link link;
  double median_error = 0, largest_error = 0;
};
/// Latency and bandwidth of single messages, seconds = latency + bytes / bandwidth, by least squares of the relative
/// error. A negative estimate becomes 0. @throws Error for fewer than two sizes, and for times or sizes that are not
/// positive
LinkFit fit_link(const std::vector<LinkPoint>& points);
/// The same from times of ring all-reduces: seconds = 2 (n - 1) (latency + bytes / (n bandwidth)), n = point.devices.
LinkFit fit_ring(const std::vector<LinkPoint>& points);
/// The same with a third figure, link.per_byte: 2 (n - 1) (latency + bytes / (n bandwidth)) + bytes per_byte. It needs
/// points of several numbers of devices, since for one number it is the same as a lower bandwidth.
LinkFit fit_ring_with_copies(const std::vector<LinkPoint>& points);

}  // namespace tandem::simulate
