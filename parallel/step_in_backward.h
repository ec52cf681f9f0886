// StepInBackward: makes the steps of an optimizer inside the backwards of a DistributedDataParallel.
#pragma once
#include "tandem/optim/optimizer.h"
#include "tandem/parallel/distributed_data_parallel.h"

namespace tandem::nn::parallel {

/// Options of StepInBackward.
struct StepInBackwardOptions {
  /// If true, gradients remain after the step that uses them. If false, the step sets them to undefined, as zero_grad()
  /// does.
  TANDEM_ARG(bool, keep_gradients) = false;
};

/// While this object lives, each synchronized backward of `ddp` also makes the optimizer's step. The parameters of a
/// bucket are stepped as soon as its gradients are averaged, while other buckets are still in flight.
///
///     StepInBackward stepping(ddp, optimizer);
///     for (auto& batch : *loader) criterion(ddp(batch.data), batch.target).backward();
///
/// The result is bitwise equal to a call of optimizer.step() after backward; calling optimizer.step() meanwhile is an
/// error. Under no_sync() no step is made. If the averages depend on the last bucket, the step waits for all buckets:
/// with weighted_average, with find_unused_parameters, in the first backward under static_graph, and in a Join when
/// some ranks have no batches. In a Join, ranks without batches make the other ranks' steps.
///
/// Functions that read all gradients before a step do not work with it: clip_grad_norm_ finds no gradients, or comes
/// too late. A backward that throws may have updated some parameters, and different ones on different ranks; then
/// restore a checkpoint.
///
/// Corresponds to PyTorch's _apply_optimizer_in_backward and DistributedDataParallel._register_fused_optim.
class StepInBackward {
 public:
  /// Registers the optimizer with `ddp`. `optimizer` must outlive this object and must not be moved.
  /// @throws Error if a parameter of the optimizer is not one of the module's; if the optimizer is LBFGS, which runs
  /// backward itself; or if the module or the optimizer is in another StepInBackward
  StepInBackward(DistributedDataParallelBase& ddp, optim::Optimizer& optimizer,
                 const StepInBackwardOptions& options = {});
  StepInBackward(const StepInBackward&) = delete;
  ~StepInBackward();

 private:
  void on_bucket_averaged(size_t bucket);

  std::shared_ptr<detail::Reducer*> reducer_;  // points to null after the DDP is destroyed
  optim::Optimizer& optimizer_;
  StepInBackwardOptions options_;
  // index in the optimizer of each parameter of the reducer; nullopt if the optimizer lacks it
  std::vector<std::optional<size_t>> optimizer_indices_;
  std::vector<bool> has_stepped_;  // for each parameter of the optimizer: whether the running backward has stepped it
};

}  // namespace tandem::nn::parallel
