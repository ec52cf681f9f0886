// Cost model of collectives on a cluster: formulas for the algorithms of all-reduce, broadcast, scatter and gather. In
// the formulas, n devices have S bytes each, and links have latency a and bandwidth B. docs/simulate.md derives each
// formula and names its source.
#pragma once
#include "tandem/tools/simulate/link.h"

namespace tandem::simulate {

/// A cluster of nodes with equal devices. One kind of link joins the devices inside a node, and another kind joins the
/// nodes.
struct Cluster {
  int devices_per_node = 8;
  Link intra_node_link;  ///< link between the devices of a node
  Link inter_node_link;  ///< link between nodes; not used if there is only one node
  bool inter_node_link_per_device =
      false;  ///< true: each device has such a link to other nodes; false: each node has one
};
/// Checks devices_per_node and the link `intra_node_link`. @throws Error that names the invalid key
void check_cluster(const Cluster& cluster);
/// Returns the number of nodes that are needed for n devices.
int count_nodes(const Cluster& cluster, int n);

/// Algorithms of all-reduce. Each takes S * Link::per_byte seconds in addition to the time given here.
enum class AllReduce {
  ring,    ///< 2 (n-1) * (a + S / (n * B)): Patarasu and Yuan 2009
  tree,    ///< two pipelined binary trees, up and then down: Sanders, Speck and Traeff 2009
  direct,  ///< all-to-all reduce-scatter and all-gather, 2 (a + (n-1)/n S / B); needs a link between every two devices
  hierarchical,  ///< reduce-scatter inside nodes, rings between nodes, all-gather inside nodes
  fastest,       ///< the fastest of these for the given size, as libraries choose
};
/// Returns the algorithm's name, such as "ring".
const char* algorithm_name(AllReduce algorithm);
/// Returns the algorithm with this name. @throws Error if there is none
AllReduce parse_all_reduce(const std::string& name);
/// Returns the four algorithms: ring, tree, direct and hierarchical.
const std::vector<AllReduce>& list_all_reduce_algorithms();

/// Returns the seconds of an all-reduce of `bytes` over n devices of one node; 0 for one device. Within one node,
/// `hierarchical` takes as long as `ring`.
/// @throws Error if n < 1, `bytes` is negative or the link is invalid
double all_reduce_seconds(AllReduce algorithm, double bytes, int n, const Link& link);
/// Returns the seconds of an all-reduce over the first n devices of a cluster, whose nodes are filled one after the
/// other. With several nodes, the slowest link determines the speed of `ring`; `tree` and `direct` use the link between
/// nodes only for the data that crosses it.
double all_reduce_seconds(AllReduce algorithm, double bytes, int n, const Cluster& cluster);

/// Algorithms of a broadcast from the first device.
enum class Broadcast {
  flat,      ///< the first device sends n - 1 times: (n-1) (a + S/B)
  binomial,  ///< every device that has the data passes it on: ceil(log2 n) (a + S/B)
  chain,     ///< along a chain, in the best number of blocks
};
/// Returns the seconds of a broadcast of `bytes` from one device to n - 1 others. A reduction of the same number of
/// bytes onto one device takes as long.
double broadcast_seconds(Broadcast algorithm, double bytes, int n, const Link& link);
/// Returns the seconds of a scatter, in which the first device sends n - 1 different messages of `bytes_each`, or of a
/// gather, in which it receives such messages. The time is (n-1) (a + bytes_each / B), because all messages use the
/// link of the first device.
double scatter_seconds(double bytes_each, int n, const Link& link);

}  // namespace tandem::simulate
