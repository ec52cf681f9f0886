// The copies of a module on several devices, which follow it from step to step.
#pragma once
#include <utility>

#include "tandem/nn/module.h"
#include "tandem/parallel/broadcast.h"

namespace tandem::nn::parallel::detail {

// Note [Replicas]: a replica is built once, as a module of its own; its tensors stay the same handles, which layers
// hold as members, and are given new elements and a new history in each step:
// - On the first device the module may be its own replica, so that what its forward writes stays. Otherwise its tensors
//   there are aliases of the module's own, so that nothing is copied, and what is written to them in place (the running
//   statistics of batch norm) is written to the module. On other devices they are views of one flat buffer per dtype,
//   filled by one transfer.
// - Parameters become the outputs of that step's broadcast node. The replicas' graphs end there; it adds up what they
//   bring in device order, and passes the sums on to the module's own parameters. Where the module is its own replica,
//   its parameters are lent that history while it runs, and are leaves again afterwards. (A second derivative then
//   reaches them past the broadcast: its sum over more than two devices may be added up in another order.)
// - What was saved for a backward still to come is in the same buffers. A copy with other values raises the version of
//   each tensor that it changes, so that such a backward says so; one with the same values may be made at any time.

/// While it lives, tensors have the history of others, which have theirs.
class Lent {
 public:
  Lent() = default;
  Lent(Lent&&) noexcept = default;
  ~Lent();
  void lend(const Tensor& to, const Tensor& history);

 private:
  std::vector<std::pair<Tensor, Tensor>> pairs_;
};

/// The module's parameters, or its buffers, and the tensors of the replicas that stand for them.
class Mirror {
 public:
  /// @param itself  whether the originals are those of the first replica too
  Mirror(const NamedParameters& originals, std::vector<Device> devices, bool itself);
  /// Lets a tensor of replica r stand for an original. False when that is none of these.
  bool add(size_t replica, const Tensor& original, const Tensor& tensor);
  /// Brings the first `count` replicas up to date; `persistent`: copies to a device only if a version there differs.
  Lent refresh(size_t count, bool persistent);

 private:
  struct Copies {  // those of one device other than the first, with the versions after the last transfer
    FlatBuffers buffers;
    std::vector<uint32_t> original_versions, versions;
  };
  void check_on_first_device() const;
  bool stale(const Copies& copies, size_t i) const;
  void transfer(size_t count, bool persistent);

  std::vector<std::string> names_;
  std::vector<Tensor> originals_;
  std::vector<Device> devices_;
  bool itself_;
  std::vector<Copies> copies_;                                     // by device
  std::vector<std::vector<std::pair<size_t, Tensor>>> followers_;  // by replica: which original, and its tensor there
};

class Replicas {
 public:
  /// @param module    must outlive this, and be on the first device
  /// @param replicas  modules with the same tensors by name, one per device; the first may be the module itself
  /// @throws Error    naming what is missing in a replica, or is not on the first device
  Replicas(const Module& module, std::vector<std::shared_ptr<Module>> replicas, std::vector<Device> devices);
  /// Brings the first `count` replicas to the module's present values, requires_grad, training flags and hooks, and
  /// makes their parameters outputs of one broadcast. Those of the module itself are so as long as the result lives.
  [[nodiscard]] Lent refresh(size_t count, bool persistent = false);

 private:
  std::vector<std::shared_ptr<Module>> replicas_;
  Mirror parameters_, buffers_;
  std::vector<std::vector<std::pair<const Module*, Module*>>> modules_;  // by replica: the module's, and its own
};

}  // namespace tandem::nn::parallel::detail
