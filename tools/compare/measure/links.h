// Probes links: times transfers and all-reduces of several sizes, and fits a line to the times.
#pragma once
#include "tandem/tools/compare/measure/sample.h"
#include "tandem/tools/simulate/link.h"

namespace tandem::tools::compare {

/// A measured link and the latency and bandwidth fitted to it. For an all-reduce of S bytes, the fitted formula is that
/// of a ring of n ranks whose links have latency a and bandwidth B: 2 (n - 1) * (a + S / (n * B)) seconds.
struct ProbedLink {
  LinkProbe probe;
  simulate::Link link;
};
/// Times copies from the first device to the second one. Takes a fraction of a second.
ProbedLink probe_copies(const Job& job);
/// Times all-reduces between job.devices ranks over the mode's backend.
ProbedLink probe_all_reduce(const Mode& mode, const Job& job);
/// Runs one rank's side of probe_all_reduce. The process group must be initialised. Returns seconds by size and repeat.
std::vector<std::vector<double>> time_all_reduces();

}  // namespace tandem::tools::compare
