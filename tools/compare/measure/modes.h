// The training modes that `tandem compare` compares, and one rank's part of a step under each.
#pragma once
#include "tandem/tools/demo/net.h"

namespace tandem::tools::compare {

struct Mode {
  enum class Kind : int8_t { single, data_parallel, distributed };
  std::string key, label;
  Kind kind = Kind::single;
  std::string backend = {};        // DDP only: local (threads), gloo or nccl (processes)
  bool persistent = false;         // DP only: replicas that are updated only if parameters changed
  bool loss_in_replicas = false;   // DP only: loss in the replicas, not on the first device
  double bucket_mib = 25;          // DDP only: cap of a bucket
  bool independent_ranks = false;  // single only: each rank trains its own network and sends nothing
};

/// Returns the modes that run by default: one device first, DDP over these backends last.
std::vector<Mode> default_modes(const std::vector<std::string>& backends);
/// Returns a DDP mode with the bucket size that the cost model chose for the link.
Mode with_buckets(Mode mode, double mib);
/// Returns the mode with this key. @throws Error that lists the keys if there is none
Mode mode_of(const std::string& key);

/// One rank's network under a mode, and its part of a step.
struct Worker {
  Net net{nullptr};
  /// Computes the outputs; `loss` then computes their loss. If DP has the loss in the replicas, `forward` is empty, and
  /// `forward_and_loss` computes both.
  std::function<Tensor(const Tensor& images)> forward;
  std::function<Tensor(const Tensor& output, const Tensor& labels)> loss;
  std::function<Tensor(const Tensor& images, const Tensor& labels)> forward_and_loss;
  std::vector<Device> devices;  // devices of this rank; under DP, all devices
  int rank = 0, ranks = 1;
};
/// Makes the worker of one rank. @param net  on the first device of this rank
/// @param devices  all devices of DP; unused by the other modes
Worker make_worker(const Mode& mode, const Net& net, const std::vector<Device>& devices);

}  // namespace tandem::tools::compare
