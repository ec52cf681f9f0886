// Declares the training modes that `tandem compare` compares, and the functions that one rank needs to run a step in
// each mode.
#pragma once
#include "tandem/tools/demo/net.h"

namespace tandem::tools::compare {

struct Mode {
  enum class Kind : int8_t { single, data_parallel, distributed };
  std::string key, label;
  Kind kind = Kind::single;
  std::string backend = {};  // under DDP: local (ranks are threads), gloo or nccl (ranks are processes)
  bool persistent_replicas =
      false;                       // under DP: keep replicas between steps, and update them only if parameters changed
  bool loss_in_replicas = false;   // under DP: compute the loss in the replicas, not on the first device
  double bucket_mib = 25;          // under DDP: maximum size of a bucket in MiB
  bool independent_ranks = false;  // if kind is single: each rank trains its own network and sends nothing
};

/// Returns the modes that run by default: one device, then the DP modes, then DDP over each of `backends`.
std::vector<Mode> default_modes(const std::vector<std::string>& backends);
/// Returns `mode` with buckets of `mib` MiB, the size that the cost model chose for the link.
Mode with_buckets(Mode mode, double mib);
/// Returns the mode with this key. @throws Error that lists the keys if there is none
Mode find_mode(const std::string& key);

/// One rank's network under a mode, with the functions that run its step. They are not the Trainer's strategies,
/// because compare measures forward and loss one by one, which a strategy computes in one call with backward. Also,
/// sweeps run forward alone, and modes set bucket sizes and persistent replicas, which the Trainer does not offer.
struct Worker {
  Net net{nullptr};
  /// Computes the network's outputs, from which `loss` then computes the loss. If the mode is DP with the loss in the
  /// replicas, `forward` is empty and `forward_and_loss` computes outputs and loss together.
  std::function<Tensor(const Tensor& inputs)> forward;
  std::function<Tensor(const Tensor& output, const Tensor& targets)> loss;
  std::function<Tensor(const Tensor& inputs, const Tensor& targets)> forward_and_loss;
  std::vector<Device> devices;  // devices that this rank uses; under DP, all devices
  int rank = 0, world_size = 1;
};
/// Makes the worker of one rank. @param net  the network, on the first device of this rank
/// @param devices  all devices of DP; ignored in the other modes
Worker make_worker(const Mode& mode, const Net& net, const std::vector<Device>& devices);

}  // namespace tandem::tools::compare
