// Computes the seconds of an all-reduce, broadcast, scatter or gather with each algorithm.
#include "tandem/tools/simulate/collectives.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.h"

namespace tandem::simulate {
namespace {

void check_call(const char* operation, double bytes, int n) {
  TANDEM_CHECK(n >= 1, operation, ": n is ", n, " devices; accepted: 1 or more");
  TANDEM_CHECK(bytes >= 0 && std::isfinite(bytes), operation, ": the message has ", bytes,
               " bytes; accepted: a finite number of 0 or more");
}
double tree_height(int n) { return std::ceil(std::log2(static_cast<double>(n))); }

/// Returns the seconds of a ring reduce-scatter or ring all-gather on n devices: n - 1 messages of S/n bytes, one after
/// the other.
double ring_phase_seconds(double bytes, double n, const Link& link) { return (n - 1) * link.seconds(bytes / n); }

/// Returns the seconds of an all-reduce over two binary trees of height h, each of which carries half of the bytes in k
/// blocks. A device sends to its two children in turn, which takes 2 (h + k) messages of S/(2k) bytes. The best k gives
/// 2ha + S/B + 2 sqrt(2 h a S/B), once for the way up and once for the way down.
double double_tree_seconds(double bytes, double h, const Link& link) {
  const double transfer = bytes / link.bandwidth, latency = h * link.latency;
  return 2 * (2 * latency + transfer + 2 * std::sqrt(2 * latency * transfer));
}

double direct_seconds(double bytes, double n, const Link& link) { return 2 * link.seconds((n - 1) / n * bytes); }

}  // namespace

void check_cluster(const Cluster& cluster) {
  TANDEM_CHECK(cluster.devices_per_node >= 1, "cluster: devices_per_node is ", cluster.devices_per_node,
               "; accepted: 1 or more");
  check_link(cluster.intra_node_link, "inside");
}

int count_nodes(const Cluster& cluster, int n) { return (n + cluster.devices_per_node - 1) / cluster.devices_per_node; }

const char* algorithm_name(AllReduce algorithm) {
  switch (algorithm) {
    case AllReduce::ring: return "ring";
    case AllReduce::tree: return "tree";
    case AllReduce::direct: return "direct";
    case AllReduce::hierarchical: return "hierarchical";
    case AllReduce::fastest: break;
  }
  return "fastest";
}

const std::vector<AllReduce>& list_all_reduce_algorithms() {
  static const std::vector<AllReduce> all = {AllReduce::ring, AllReduce::tree, AllReduce::direct,
                                             AllReduce::hierarchical};
  return all;
}

AllReduce parse_all_reduce(const std::string& name) {
  for (const AllReduce a :
       {AllReduce::ring, AllReduce::tree, AllReduce::direct, AllReduce::hierarchical, AllReduce::fastest})
    if (name == algorithm_name(a)) return a;
  TANDEM_FAIL("all_reduce is ", name, "; accepted: ring, tree, direct, hierarchical, fastest");
}

double all_reduce_seconds(AllReduce algorithm, double bytes, int n, const Link& link) {
  check_call("all_reduce_seconds", bytes, n);
  check_link(link, "of the all-reduce");
  if (n == 1) return 0;
  const double copies = bytes * link.per_byte;
  switch (algorithm) {
    case AllReduce::hierarchical:
    case AllReduce::ring: return 2 * ring_phase_seconds(bytes, n, link) + copies;
    case AllReduce::tree: return double_tree_seconds(bytes, tree_height(n), link) + copies;
    case AllReduce::direct: return direct_seconds(bytes, n, link) + copies;
    case AllReduce::fastest: break;
  }
  double min_seconds = INFINITY;
  for (const AllReduce a : list_all_reduce_algorithms())
    min_seconds = std::min(min_seconds, all_reduce_seconds(a, bytes, n, link));
  return min_seconds;
}

double all_reduce_seconds(AllReduce algorithm, double bytes, int n, const Cluster& cluster) {
  check_call("all_reduce_seconds", bytes, n);
  check_cluster(cluster);
  const int nodes = count_nodes(cluster, n);
  if (nodes == 1) return all_reduce_seconds(algorithm, bytes, n, cluster.intra_node_link);
  check_link(cluster.inter_node_link, "between");
  const double local = cluster.devices_per_node, devices = n, m = nodes;
  const Link &intra_node_link = cluster.intra_node_link, &inter_node_link = cluster.inter_node_link;
  const double copies = bytes * intra_node_link.per_byte;
  // Link of a node when all its devices send at the same time.
  const Link node{inter_node_link.latency,
                  inter_node_link.bandwidth * (cluster.inter_node_link_per_device ? local : 1)};
  switch (algorithm) {
    case AllReduce::ring: {
      // If each device has its own link to other nodes, as many rings run in parallel as a node has devices, and each
      // ring enters the node at another device.
      const double slowest = std::max(intra_node_link.seconds(bytes / devices), node.seconds(bytes / devices));
      return 2 * (devices - 1) * slowest + copies;
    }
    case AllReduce::tree: {
      // Trees inside the nodes and trees between the first devices of the nodes run at the same time. The slower ones
      // determine the total time.
      const double below =
          local > 1 ? double_tree_seconds(bytes, tree_height(cluster.devices_per_node), intra_node_link) : 0;
      const double above = double_tree_seconds(bytes, tree_height(nodes), inter_node_link);
      return std::max(above, below) + 4 * tree_height(cluster.devices_per_node) * intra_node_link.latency + copies;
    }
    case AllReduce::direct: {
      // Each device sends S/n bytes to every other device. Messages to other nodes share the node's link.
      const double inter_node_seconds = local * (devices - local) / devices * bytes / node.bandwidth;
      const double intra_node_seconds = (local - 1) / devices * bytes / intra_node_link.bandwidth;
      return 2 * (inter_node_link.latency + std::max(inter_node_seconds, intra_node_seconds)) + copies;
    }
    case AllReduce::hierarchical:
      // Each device of a node reduces S/local bytes with the devices at the same position on the other nodes. All
      // devices do this at the same time, over the node's link.
      return 2 * ring_phase_seconds(bytes, local, intra_node_link) + 2 * ring_phase_seconds(bytes, m, node) + copies;
    case AllReduce::fastest: break;
  }
  double min_seconds = INFINITY;
  for (const AllReduce a : list_all_reduce_algorithms())
    min_seconds = std::min(min_seconds, all_reduce_seconds(a, bytes, n, cluster));
  return min_seconds;
}

double broadcast_seconds(Broadcast algorithm, double bytes, int n, const Link& link) {
  check_call("broadcast_seconds", bytes, n);
  check_link(link, "of the broadcast");
  if (n == 1) return 0;
  if (algorithm == Broadcast::flat) return (n - 1) * link.seconds(bytes);
  if (algorithm == Broadcast::binomial) return tree_height(n) * link.seconds(bytes);
  // In a chain, k blocks pass over n - 1 links: (n - 2 + k) (a + S / (k B)) seconds. The best k is where the derivative
  // by k is 0.
  const double stages = n - 2, transfer = bytes / link.bandwidth;
  const double best = link.latency > 0 ? std::sqrt(stages * transfer / link.latency) : 1e6;
  const double k = std::max(1.0, std::floor(best));
  return (stages + k) * link.seconds(bytes / k);
}

double scatter_seconds(double bytes_each, int n, const Link& link) {
  check_call("scatter_seconds", bytes_each, n);
  check_link(link, "of the scatter");
  return (n - 1) * link.seconds(bytes_each);
}

}  // namespace tandem::simulate
