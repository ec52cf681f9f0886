// Replicas: copies of a module on several devices, updated from the module before each step.
#pragma once
#include <utility>

#include "tandem/nn/module.h"
#include "tandem/parallel/broadcast.h"

namespace tandem::nn::parallel::detail {

// Note [Replicas]: a replica is built once, as a module of its own. Layers hold its tensors as members, so these
// tensors remain the same objects. In each step they are given new storage and a new history:
// - On the first device the module may be its own replica, so that the members that its forward writes keep their
//   values. Otherwise the replica's tensors on that device are aliases of the module's: nothing is copied, and in-place
//   writes (the running statistics of batch norm) reach the module. On other devices the replica's tensors are views of
//   one flat buffer per dtype, filled by one transfer.
// - Parameters become outputs of the step's broadcast node. The graphs of the replicas end at this node, which adds
//   their gradients in device order and passes the sums on to the module's own parameters. If the module is its own
//   replica, its parameters are lent this history while forward runs, and are leaves again afterwards. (A second
//   derivative then reaches them without passing the broadcast node, so its sum over more than two devices may be added
//   in another order.)
// - Tensors saved for a backward that has yet to run are views of the same buffers. A transfer raises the version of
//   each tensor whose value may change, so that such a backward reports the change. A transfer of equal values may be
//   made at any time.

/// Gives tensors the history of other tensors, by swapping their autograd data. The destructor swaps the data back.
class HistorySwapGuard {
 public:
  HistorySwapGuard() = default;
  HistorySwapGuard(HistorySwapGuard&&) noexcept = default;
  ~HistorySwapGuard();
  void swap_history(const Tensor& to, const Tensor& history);

 private:
  std::vector<std::pair<Tensor, Tensor>> swapped_tensors_;
};

/// The parameters of a module, or its buffers, and the corresponding tensors of all replicas.
class ReplicatedTensors {
 public:
  /// @param module_is_replica  true if the module itself is the replica on the first device
  ReplicatedTensors(const NamedParameters& originals, std::vector<Device> devices, bool module_is_replica);
  /// Registers the tensor of replica r that corresponds to `original`. Returns false if `original` is not one of the
  /// module's tensors listed here.
  bool add_replica_tensor(size_t replica, const Tensor& original, const Tensor& tensor);
  /// Updates the tensors of the first `count` replicas.
  /// @param persistent_replicas  if true, copies to a device only if a version counter shows a change there or in the
  /// original
  HistorySwapGuard update_replicas(size_t count, bool persistent_replicas);

 private:
  struct DeviceReplicas {  // copies of all originals on a device other than the first; version counters after the
                           // last transfer
    FlatBuffers buffers;
    std::vector<uint32_t> original_versions, versions;
  };
  void check_on_first_device() const;
  bool is_stale(const DeviceReplicas& copies, size_t i) const;
  void copy_to_replicas(size_t count, bool persistent_replicas);

  std::vector<std::string> tensor_names_;
  std::vector<Tensor> originals_;
  std::vector<Device> devices_;
  bool module_is_replica_;
  std::vector<DeviceReplicas> replicas_;  // copies on each device
  // for each replica: pairs of the index of an original and the replica's tensor
  std::vector<std::vector<std::pair<size_t, Tensor>>> replica_tensors_;
};

class Replicas {
 public:
  /// @param module    module to copy; must outlive this object and be on the first device
  /// @param replicas  modules with tensors of the same names, one per device; the first may be the module itself
  /// @throws Error    naming a tensor that a replica lacks, or that is not on the first device
  Replicas(const Module& module, std::vector<std::shared_ptr<Module>> replicas, std::vector<Device> devices);
  /// Updates the first `count` replicas: copies values, requires_grad, training flags and hooks from the module.
  /// Parameters become outputs of one broadcast node. If the module is its own replica, its parameters are outputs of
  /// that node only until the returned object is destroyed.
  [[nodiscard]] HistorySwapGuard update_replicas(size_t count, bool persistent_replicas = false);

 private:
  std::vector<std::shared_ptr<Module>> replicas_;
  ReplicatedTensors parameters_, buffers_;
  // for each replica: pairs of a module and its copy
  std::vector<std::vector<std::pair<const Module*, Module*>>> module_replicas_;
};

}  // namespace tandem::nn::parallel::detail
