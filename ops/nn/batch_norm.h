// Batch normalization: batch_norm, native_batch_norm. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// Normalizes each channel of x (N, C, ...). Training uses the statistics of the batch and updates the running
/// statistics: running = (1 - momentum) running + momentum batch, with the unbiased variance. Evaluation uses the
/// running statistics. A channels-last x gives a channels-last result. On the CPU, float32 statistics are accurate if
/// they fit float32, because sums of squares beyond the range of float32 are computed in double. On CUDA, squares are
/// summed in float32, as in PyTorch, and overflow if elements exceed about 1e18. This also applies to layer_norm,
/// group_norm and instance_norm.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, detail::Flag training, double momentum = 0.1, double eps = 1e-5);
namespace detail {
/// Interface for a batch whose parts are on different ranks: combines their statistics, so that each part is normalized
/// with the statistics of the whole batch. Implemented by SyncBatchNorm.
struct BatchStatsReducer {
  virtual ~BatchStatsReducer() = default;
  /// Returns whether the whole batch is on this rank.
  virtual bool is_single_rank() const = 0;
  /// Replaces the mean and the biased variance of this part, which has `count` values per channel, by the mean and the
  /// variance of the whole batch. Returns the number of values per channel in the whole batch.
  virtual int64_t combine_stats(Tensor& mean, Tensor& var, int64_t count) const = 0;
  /// Replaces sums by their total over all parts of the batch.
  virtual void all_reduce_sums(const Tensor& sums) const = 0;
};
/// Implements tandem::batch_norm. If `stats_reducer` is given, training uses the statistics of all parts of the batch.
/// `num_batches_tracked` is an int64 counter that training increments; it may be undefined.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, Flag training, double momentum, double eps,
                  const std::shared_ptr<const BatchStatsReducer>& stats_reducer,
                  const Tensor& num_batches_tracked = {});
/// Returns whether norm_relu_pool accepts x: float32 on the CPU, channels-last, not empty.
bool can_norm_relu_pool(const Tensor& x);
/// Returns whether norm_relu_pool supports this pooling of x: windows must tile x without padding, gaps or overlaps,
/// and have at most 250 elements.
bool can_norm_relu_pool(const Tensor& x, Pair kernel_size, Pair stride, Pair padding, Pair dilation, bool ceil_mode);
/// Computes max_pool2d(relu(batch_norm(...)), kernel_size) with bitwise equal results, but in one pass without
/// intermediate results. Graphs and traces name it batch_norm_relu_max_pool2d, or batch_norm_relu if windows have one
/// element.
Tensor norm_relu_pool(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, Flag training, double momentum, double eps, Pair kernel_size);
}  // namespace detail

// ---- LibTorch's signatures; the last argument, whether cuDNN may be used, has no effect
inline Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                         const Tensor& running_var, detail::Flag training, double momentum, double eps,
                         bool /*cudnn_enabled*/) {
  return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps);
}
/// Returns (y, mean, 1 / standard deviation). In training these are the statistics of the batch, towards which the
/// running statistics move by `momentum`; in evaluation the last two are empty. Statistics have no gradient.
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     detail::Flag training, double momentum, double eps);

}  // namespace tandem
