// StepInBackward: the optimizer's steps, made in the backwards of a DistributedDataParallel.
#pragma once
#include "tandem/optim/optimizer.h"
#include "tandem/parallel/distributed_data_parallel.h"

namespace tandem::nn::parallel {

/// Of a StepInBackward.
struct StepInBackwardOptions {
  /// Whether gradients stay after the step that uses them. Otherwise it drops them, as zero_grad() does.
  TANDEM_ARG(bool, keep_gradients) = false;
};

/// While it lives, each backward of `ddp` that synchronizes makes the optimizer's step too: for the parameters of a
/// bucket as soon as its gradients are averaged, while those of other buckets are still on their way.
///
///     StepInBackward stepping(ddp, optimizer);
///     for (auto& batch : *loader) criterion(ddp(batch.data), batch.target).backward();
///
/// The step is the one that optimizer.step() makes after backward, to the last bit; that is an error meanwhile. Under
/// no_sync() there is none. With weighted_average, with find_unused_parameters, in the first backward under
/// static_graph, and in a Join when some ranks have no batches, the step waits for all buckets: the last one says what
/// an average is. In a Join ranks without batches make the others' steps.
///
/// What looks at all gradients before a step does not go with it: clip_grad_norm_ finds none, or comes too late. A
/// backward that throws may have updated some parameters, and other ones on other ranks: go back to a checkpoint.
///
/// As PyTorch's _apply_optimizer_in_backward and DistributedDataParallel._register_fused_optim.
class StepInBackward {
 public:
  /// `optimizer` must live as long, where it is.
  /// @throws Error for a parameter of the optimizer that is not one of the module's, an LBFGS, which runs backwards
  /// itself, and when the module or the optimizer is in another StepInBackward already
  StepInBackward(DistributedDataParallelBase& ddp, optim::Optimizer& optimizer,
                 const StepInBackwardOptions& options = {});
  StepInBackward(const StepInBackward&) = delete;
  ~StepInBackward();

 private:
  void after_bucket(size_t bucket);

  std::shared_ptr<detail::Reducer*> reducer_;  // null when the module is gone
  optim::Optimizer& optimizer_;
  StepInBackwardOptions options_;
  std::vector<std::optional<size_t>> numbers_;  // in the optimizer, of the reducer's parameters
  std::vector<bool> stepped_;                   // by these numbers: in the backward under way
};

}  // namespace tandem::nn::parallel
