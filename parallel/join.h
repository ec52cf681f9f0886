// Join: ranks that run out of batches at different times.
#pragma once
#include "tandem/parallel/distributed_data_parallel.h"

namespace tandem::nn::parallel {

/// As the arguments of PyTorch's torch.distributed.algorithms.Join.
struct JoinOptions {
  /// Whether gradients are still divided by the number of all ranks when some have run out, so that a batch counts as
  /// much as before; otherwise by the number of those that go on. Under weighted_average neither: examples count alike.
  TANDEM_ARG(bool, divide_by_initial_world_size) = true;
  /// Whether every rank throws as soon as one has run out.
  TANDEM_ARG(bool, throw_on_early_termination) = false;
  /// Off, nothing is shadowed, and nothing is sent beside what training sends.
  TANDEM_ARG(bool, enable) = true;
};

/// Lets each rank train on as many batches as it has:
///
///     Join join({&ddp});
///     for (auto& batch : *loader) { ... ddp(batch.data) ... optimizer.step(); }
///     join.finish();
///
/// A rank whose loop has ended takes part in the forwards and backwards of the others, with gradients of zeros, until
/// all loops have ended. The modules of all ranks then become that of a rank that ended last; states of optimizers do
/// not follow. Each forward tells all ranks who goes on, a small collective.
///
/// Of several modules, which must share a process group, each step runs forward and backward of the first, then of the
/// second, and so on. While it lives the modules must.
class Join {
 public:
  /// @throws Error without modules, or when they do not share a group, or one is in another Join
  explicit Join(std::vector<DistributedDataParallelBase*> modules, const JoinOptions& options = {});
  Join(const Join&) = delete;
  /// Calls finish() unless that was done, or an exception goes past it; what it throws is printed.
  ~Join();
  /// This rank has no batches any more. Returns when no rank has.
  /// @throws Error under throw_on_early_termination, unless all ranks came to it after as many forwards
  void finish();

 private:
  friend class DistributedDataParallelBase;
  /// What each rank says before each forward.
  struct Told {
    std::vector<int> going_on;       // ranks that run it
    bool synchronizes, has_buffers;  // what the first of them does
  };
  /// Of a forward of this rank. Returns whose buffers count: of a rank that went on until the last forward, so that
  /// running statistics go on where it left them.
  int tell_others(DistributedDataParallelBase& module, bool synchronizes);
  /// In a forward: whether all ranks run it.
  bool all_go_on() const { return last_.size() == static_cast<size_t>(modules_[0]->group_->size()); }
  Told tell(DistributedDataParallelBase& module, bool going_on, bool synchronizes);
  void shadow(DistributedDataParallelBase& module, const Told& told);
  void shadow_all();
  void take_last_model();
  void leave();

  std::vector<DistributedDataParallelBase*> modules_;
  JoinOptions options_;
  int exceptions_;
  std::vector<int> last_;  // who went on when somebody did
};

}  // namespace tandem::nn::parallel
