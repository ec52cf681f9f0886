// The ways of training that `tandem compare` compares, and one rank's part of a step of each.
#pragma once
#include "tandem/tools/demo/net.h"

namespace tandem::tools::compare {

struct Mode {
  enum class Kind : int8_t { single, data_parallel, distributed };
  std::string key, label;
  Kind kind = Kind::single;
  std::string backend = {};        // of DDP: local (threads), gloo or nccl (processes)
  bool persistent = false;         // of DP: replicas that are copied to only when parameters changed
  bool loss_in_replicas = false;   // of DP: rather than on the first device, from the gathered outputs
  double bucket_mib = 25;          // of DDP
  bool independent_ranks = false;  // of single: each rank trains its own network on its share, and sends nothing
};

/// What is run unless other modes are named: one device first, DDP over these backends last.
std::vector<Mode> default_modes(const std::vector<std::string>& backends);
/// DDP with buckets of the size that the cost model chose for the link.
Mode with_buckets(Mode mode, double mib);
/// @throws Error that lists the keys
Mode mode_of(const std::string& key);

/// One rank's network under a mode, and its part of a step.
struct Worker {
  Net net{nullptr};
  /// The outputs, and then the loss of them; or, of DP with the loss in the replicas, both at once: `forward` is empty.
  std::function<Tensor(const Tensor& images)> forward;
  std::function<Tensor(const Tensor& output, const Tensor& labels)> loss;
  std::function<Tensor(const Tensor& images, const Tensor& labels)> forward_and_loss;
  std::vector<Device> devices;  // that this process or thread computes on
  int rank = 0, ranks = 1;
};
/// @param net      on the first device of this rank
/// @param devices  of DP: all of them
Worker make_worker(const Mode& mode, const Net& net, const std::vector<Device>& devices);

}  // namespace tandem::tools::compare
