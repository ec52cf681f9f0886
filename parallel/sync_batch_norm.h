// Batch norm with statistics over the batches of all ranks, as PyTorch's torch.nn.SyncBatchNorm.
#pragma once
#include "tandem/nn/batch_norm.h"
#include "tandem/parallel/collectives/distributed.h"

namespace tandem::nn {

/// Batch norm over the batches of all ranks of a group. These batches may differ in size and may be empty. In training
/// each channel is normalised by the mean and variance over all batches, and the gradients are those of one batch that
/// joins them. The running statistics are the same on all ranks. In evaluation, without a process group, or with one
/// rank, it is the same as BatchNorm.
///
/// In training, forward and backward each run one small collective: all ranks must run them in the same order. There
/// are no second derivatives over several ranks. DistributedDataParallel averages the gradients of its parameters as
/// those of other modules.
class SyncBatchNormImpl : public NormImplBase<0, SyncBatchNormImpl, BatchNormOptions> {
 public:
  /// @param group  group of ranks; if null, the default group at the time of each forward and backward
  explicit SyncBatchNormImpl(const BatchNormOptions& options, distributed::ProcessGroupPtr group = nullptr);
  /// x (N, C, ...)
  Tensor forward(const Tensor& x);
};
TANDEM_LIBRARY_MODULE(SyncBatchNorm);

/// Makes every BatchNorm1d, BatchNorm2d and BatchNorm3d in `module`, itself included, normalise over the ranks of a
/// group, as SyncBatchNorm does. The modules remain the same objects of the same type, so members and optimizers that
/// refer to them need no change. (Python's function replaces them by SyncBatchNorms and returns the module.) Call it
/// before you construct DistributedDataParallel.
/// @param group  group of ranks; if null, the default group at the time of each forward and backward
void convert_sync_batchnorm(Module& module, const distributed::ProcessGroupPtr& group = nullptr);
/// Converts the module of a handle or pointer in place, and returns the handle or pointer.
template <class M> M convert_sync_batchnorm(M module, const distributed::ProcessGroupPtr& group = nullptr) {
  convert_sync_batchnorm(static_cast<Module&>(*module), group);
  return module;
}

}  // namespace tandem::nn
