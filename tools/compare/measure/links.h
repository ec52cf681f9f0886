// Probes of links: how long transfers and all-reduces of several sizes take, and the line through them.
#pragma once
#include "tandem/tools/compare/measure/sample.h"
#include "tandem/tools/simulate/link.h"

namespace tandem::tools::compare {

/// A probe, and the link that was fitted to it: of an all-reduce, to a ring's 2 (n - 1) (a + S / (n B)).
struct ProbedLink {
  LinkProbe probe;
  simulate::Link link;
};
/// Copies from the first device to the second. It takes a fraction of a second.
ProbedLink probe_copies(const Job& job);
/// All-reduces between job.devices ranks of the mode's backend.
ProbedLink probe_all_reduce(const Mode& mode, const Job& job);
/// A rank's part of that, in an initialised group: seconds by size and repeat.
std::vector<std::vector<double>> time_all_reduces();

}  // namespace tandem::tools::compare
