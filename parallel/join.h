// Join: lets ranks train that run out of batches at different times.
#pragma once
#include "tandem/parallel/distributed_data_parallel.h"

namespace tandem::nn::parallel {

/// Options of Join; they correspond to the arguments of torch.distributed.algorithms.Join.
struct JoinOptions {
  /// If true, gradients are divided by the number of all ranks even if some ranks have run out, so that a batch counts
  /// as much as before. If false, they are divided by the number of ranks that still have batches. Ignored under
  /// weighted_average, where all examples count equally.
  TANDEM_ARG(bool, divide_by_initial_world_size) = true;
  /// If true, every rank throws as soon as one rank has run out.
  TANDEM_ARG(bool, throw_on_early_termination) = false;
  /// If false, the Join does nothing and sends nothing.
  TANDEM_ARG(bool, enable) = true;
};

/// Lets each rank train on as many batches as it has:
///
///     Join join({&ddp});
///     for (auto& batch : *loader) { ... ddp(batch.data) ... optimizer.step(); }
///     join.finish();
///
/// A rank whose loop has ended takes part in the forwards and backwards of the other ranks with zero gradients until
/// all loops have ended. Then the modules of all ranks get the parameters and buffers of a rank that ended last; the
/// states of optimizers are not copied. Before each forward, a small collective tells all ranks which ranks still have
/// batches.
///
/// Several modules must share a process group. Each step must run forward and backward of the first module, then of the
/// second, and so on. The modules must outlive the Join.
class Join {
 public:
  /// @throws Error if there are no modules, if they do not share a group, or if one of them is in another Join
  explicit Join(std::vector<DistributedDataParallelBase*> modules, const JoinOptions& options = {});
  Join(const Join&) = delete;
  /// Calls finish() unless that was done or an exception is propagating. Exceptions of finish() are printed.
  ~Join();
  /// Declares that this rank has no more batches. Returns when no rank has any.
  /// @throws Error under throw_on_early_termination, unless all ranks call finish() after the same number of forwards
  void finish();

 private:
  friend class DistributedDataParallelBase;
  /// The status of all ranks, exchanged before each forward.
  struct Told {
    std::vector<int> going_on;       // ranks that run the forward
    bool synchronizes, has_buffers;  // status of the first of these ranks: the forward synchronizes; buffers must be
                                     // broadcast before it
  };
  /// Tells the other ranks that this rank runs a forward. Returns the rank that broadcasts its buffers: the first rank
  /// that ran the previous forward, so that running statistics continue from that rank.
  int tell_others(DistributedDataParallelBase& module, bool synchronizes);
  /// During a forward: returns whether all ranks run it.
  bool all_go_on() const { return last_.size() == static_cast<size_t>(modules_[0]->group_->size()); }
  Told tell(DistributedDataParallelBase& module, bool going_on, bool synchronizes);
  void shadow(DistributedDataParallelBase& module, const Told& told);
  void shadow_all();
  void take_last_model();
  void leave();

  std::vector<DistributedDataParallelBase*> modules_;
  JoinOptions options_;
  int exceptions_;
  std::vector<int> last_;  // ranks that ran the last forward
};

}  // namespace tandem::nn::parallel
