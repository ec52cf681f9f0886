// Batch norm whose statistics are those of the batch of all ranks, as PyTorch's torch.nn.SyncBatchNorm.
#pragma once
#include "tandem/nn/batch_norm.h"
#include "tandem/parallel/collectives/distributed.h"

namespace tandem::nn {

/// Batch norm over the ranks of a group, whose batches may be of different sizes, or empty: in training each channel is
/// normalised by mean and variance of all of them together, and the gradients are those of that one batch. The running
/// statistics are the same on all ranks. In evaluation, without a process group and on one rank it is BatchNorm.
///
/// Its forward and its backward in training are collectives, one small one each: all ranks must run them, in one order.
/// It has no second derivatives over several ranks. DistributedDataParallel averages the gradients of its parameters as
/// those of others.
class SyncBatchNormImpl : public NormImplBase<0, SyncBatchNormImpl, BatchNormOptions> {
 public:
  /// @param group  the default group, of when it runs, unless given
  explicit SyncBatchNormImpl(const BatchNormOptions& options, distributed::ProcessGroupPtr group = nullptr);
  /// x (N, C, ...)
  Tensor forward(const Tensor& x);
};
TANDEM_LIBRARY_MODULE(SyncBatchNorm);

/// Makes every BatchNorm1d, BatchNorm2d and BatchNorm3d in `module`, itself included, one over the ranks of a group, as
/// a SyncBatchNorm is. They stay where and what they are, so that members that name them, and optimizers, need no
/// change. (Python's puts SyncBatchNorms in their place, and returns the module.) Call it before
/// DistributedDataParallel is made.
/// @param group  the default group, of when they run, unless given
void convert_sync_batchnorm(Module& module, const distributed::ProcessGroupPtr& group = nullptr);
/// The same for what is in a handle or a pointer, which is returned.
template <class M> M convert_sync_batchnorm(M module, const distributed::ProcessGroupPtr& group = nullptr) {
  convert_sync_batchnorm(static_cast<Module&>(*module), group);
  return module;
}

}  // namespace tandem::nn
