// Batch normalisation: batch_norm, native_batch_norm. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// Normalises each channel of x (N, C, ...). In training the batch's statistics are used, and running ones updated:
/// running = (1 - momentum) running + momentum batch, with the unbiased variance. Otherwise the running ones are used.
/// Channels-last x gives a channels-last result. On the CPU float32 statistics are accurate if they fit float32: sums
/// of squares beyond float32 are computed in double. On CUDA squares are summed in float32, as in PyTorch, and overflow
/// if elements exceed about 1e18. The same holds for layer_norm, group_norm and instance_norm.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, detail::Flag training, double momentum = 0.1, double eps = 1e-5);
namespace detail {
/// The parts of one batch, of which each is normalised elsewhere, by the statistics of the whole: what they tell each
/// other. SyncBatchNorm's.
struct BatchParts {
  virtual ~BatchParts() = default;
  /// Whether there is only one.
  virtual bool is_whole() const = 0;
  /// The mean and the biased variance of this part, of `count` values for each channel, become those of all parts.
  /// Returns how many values these have.
  virtual int64_t join(Tensor& mean, Tensor& var, int64_t count) const = 0;
  /// sums = those of all parts, added up
  virtual void add(const Tensor& sums) const = 0;
};
/// As below; in training over all parts, if there are some. batches: an int64 that counts this one in training, or
/// undefined.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, Flag training, double momentum, double eps,
                  const std::shared_ptr<const BatchParts>& parts, const Tensor& batches = {});
/// Whether norm_relu_pool takes x: float32 on the CPU, channels-last, not empty.
bool can_norm_relu_pool(const Tensor& x);
/// Whether it pools so, of an x that it takes: by windows that lie side by side.
bool can_norm_relu_pool(const Tensor& x, Pair kernel_size, Pair stride, Pair padding, Pair dilation, bool ceil_mode);
/// max_pool2d(relu(batch_norm(...)), kernel_size), to the last bit, in one pass without what lies between them. Graphs
/// and traces call it batch_norm_relu_max_pool2d, or batch_norm_relu where the windows are of one element.
Tensor norm_relu_pool(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, Flag training, double momentum, double eps, Pair kernel_size);
}  // namespace detail

// ---- LibTorch's forms with a last argument that says whether cuDNN may be used, which changes nothing
inline Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                         const Tensor& running_var, detail::Flag training, double momentum, double eps,
                         bool /*cudnn_enabled*/) {
  return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps);
}
/// (y, mean, 1 / deviation): the statistics that the normalisation is made by, of which the running ones of
/// native_batch_norm take a part in training. They have no gradient of their own.
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     detail::Flag training, double momentum, double eps);

}  // namespace tandem
