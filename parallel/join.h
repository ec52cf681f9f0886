// Join: lets ranks with different numbers of batches train together.
#pragma once
#include "tandem/parallel/distributed_data_parallel.h"

namespace tandem::nn::parallel {

/// Options of Join. They correspond to the arguments of torch.distributed.algorithms.Join.
struct JoinOptions {
  /// If true, gradients are divided by the number of all ranks even if some ranks have run out of batches, so that each
  /// batch keeps its weight. If false, they are divided by the number of ranks that still have batches. Ignored with
  /// weighted_average, where all examples count equally.
  TANDEM_ARG(bool, divide_by_initial_world_size) = true;
  /// If true, every rank throws as soon as one rank has run out of batches.
  TANDEM_ARG(bool, throw_on_early_termination) = false;
  /// If false, the Join has no effect.
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
  /// Adds the modules to this Join. @throws Error if there are no modules, if they do not share a group, or if one of
  /// them is in another Join
  explicit Join(std::vector<DistributedDataParallelBase*> modules, const JoinOptions& options = {});
  Join(const Join&) = delete;
  /// Calls finish(), unless it has been called or an exception is propagating. Prints exceptions of finish().
  ~Join();
  /// Declares that this rank has no more batches. Returns when no rank has any batches left.
  /// @throws Error if throw_on_early_termination is true and the ranks call finish() after different numbers of
  /// forwards
  void finish();

 private:
  friend class DistributedDataParallelBase;
  /// Status of all ranks, which they exchange before each forward.
  struct RankStatus {
    std::vector<int> active_ranks;  // ranks that run the forward
    // synchronizes: whether the backward of this forward averages gradients, according to the first rank in
    // active_ranks. must_broadcast_buffers: whether buffers must be broadcast before the forward.
    bool synchronizes, must_broadcast_buffers;
  };
  /// Tells the other ranks that this rank runs a forward. Returns the rank that broadcasts its buffers before this
  /// forward: the first of the ranks that ran the previous forward, so that running statistics continue from there.
  int notify_join_context(DistributedDataParallelBase& module, bool synchronizes);
  /// Returns whether all ranks run the current forward.
  bool all_ranks_active() const {
    return last_active_ranks_.size() == static_cast<size_t>(modules_[0]->group_->size());
  }
  RankStatus exchange_status(DistributedDataParallelBase& module, bool active, bool synchronizes);
  void shadow_step(DistributedDataParallelBase& module, const RankStatus& status);
  void shadow_until_all_join();
  void sync_final_model();
  void detach_modules();

  std::vector<DistributedDataParallelBase*> modules_;
  JoinOptions options_;
  int uncaught_exceptions_;
  std::vector<int> last_active_ranks_;  // ranks that ran the latest forward
};

}  // namespace tandem::nn::parallel
