// What collectives cost on a cluster: formulas of the algorithms of all-reduce, broadcast, scatter and gather.
// n devices, S bytes on each, links of latency a and bandwidth B; docs/simulate.md derives each and names its source.
#pragma once
#include "tandem/tools/simulate/link.h"

namespace tandem::simulate {

/// Nodes of equal devices, joined by one kind of link inside a node and one between nodes.
struct Cluster {
  int devices_per_node = 8;
  Link inside;                      ///< of each device to the others of its node
  Link between;                     ///< from node to node; read only when there are several nodes
  bool between_per_device = false;  ///< every device has such a link of its own; otherwise a node's devices share one
};
/// @throws Error that names the key for fewer than one device per node, and for a bad link
void check_cluster(const Cluster& cluster);
/// How many nodes n devices need.
int nodes_of(const Cluster& cluster, int n);

/// How gradients are added up over all devices.
enum class AllReduce {
  ring,          ///< 2 (n-1) (a + S / (n B)): Patarasu and Yuan 2009
  tree,          ///< two binary trees, blocks pipelined, up and then down: Sanders, Speck and Traeff 2009
  direct,        ///< all-to-all reduce-scatter and all-gather, 2 (a + (n-1)/n S / B): every pair is linked
  hierarchical,  ///< reduce-scatter inside nodes, rings between them, all-gather inside
  fastest,       ///< whichever of these is least, as libraries choose by size
};
/// Its name: "ring" and so on.
const char* name_of(AllReduce algorithm);
/// @throws Error for a name that is none
AllReduce all_reduce_named(const std::string& name);
/// Ring, tree, direct and hierarchical.
const std::vector<AllReduce>& all_reduces();

/// Seconds of an all-reduce of S = bytes over n devices that are all joined by one link each; 0 for one device.
/// There is one node, so that hierarchical is a ring. @throws Error for n < 1, negative bytes, a bad link
double all_reduce_seconds(AllReduce algorithm, double bytes, int n, const Link& link);
/// The same on a cluster, whose nodes are filled one after the other. Where there are several, the ring's slowest link
/// paces it, and tree and direct pay the link between nodes for what crosses it.
double all_reduce_seconds(AllReduce algorithm, double bytes, int n, const Cluster& cluster);

/// How the first device's values reach the others.
enum class Broadcast {
  flat,      ///< the first device sends n - 1 times: (n-1) (a + S/B)
  binomial,  ///< whoever has it passes it on: ceil(log2 n) (a + S/B)
  chain,     ///< in a chain, in blocks, as many as are best
};
/// Seconds of a broadcast of `bytes` from one device to n - 1 others; the sum of as many gradients onto it takes as
/// long.
double broadcast_seconds(Broadcast algorithm, double bytes, int n, const Link& link);
/// Seconds in which the first device sends n - 1 different messages of `bytes_each` (or receives them, in a gather):
/// (n-1) (a + bytes_each / B), since all pass through its one link.
double scatter_seconds(double bytes_each, int n, const Link& link);

}  // namespace tandem::simulate
