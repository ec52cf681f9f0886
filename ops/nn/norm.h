// Normalisation. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include <memory>

#include "tandem/ops/nn/pair.h"

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
/// Normalises over the last dimensions, whose sizes are normalized_shape. Precision: see batch_norm.
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// ---- made of those; weight and bias are (C) or undefined
/// Normalises each of num_groups groups of channels of each sample of x (N, C, ...).
/// @throws Error unless num_groups divides C
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// Normalises each channel of each sample of x (N, C, ...) by its own statistics, of which the running ones, if
/// defined, take the mean over the samples; or, without use_input_stats, by the running ones.
Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, detail::Flag use_input_stats, double momentum, double eps);
/// x / sqrt(mean x^2 + eps) weight over the last dimensions, whose sizes are normalized_shape (Zhang and Sennrich 2019,
/// arXiv:1910.07467). eps: unless given, the distance from 1 to the next number of x's dtype. Half types are computed
/// in float32, and squares are summed in double on every device.
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});
/// (sum |v|^p)^(1/p) over all dimensions but dim, which stay with size 1; dim -1: over all, of no dimension.
Tensor norm_except_dim(const Tensor& v, int64_t p = 2, int64_t dim = 0);

// ---- LibTorch's forms with a last argument that says whether cuDNN may be used, which changes nothing
inline Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                         const Tensor& running_var, detail::Flag training, double momentum, double eps,
                         bool /*cudnn_enabled*/) {
  return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps);
}
inline Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                         double eps, bool /*cudnn_enable*/) {
  return layer_norm(x, normalized_shape, weight, bias, eps);
}
inline Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps,
                         bool /*cudnn_enabled*/) {
  return group_norm(x, num_groups, weight, bias, eps);
}
inline Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                            const Tensor& running_var, detail::Flag use_input_stats, double momentum, double eps,
                            bool /*cudnn_enabled*/) {
  return instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps);
}
/// (y, mean, 1 / deviation): the statistics that the normalisation is made by, of which the running ones of
/// native_batch_norm take a part in training. They have no gradient of their own.
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     detail::Flag training, double momentum, double eps);
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, IntArrayRef normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps);
/// x is of N samples, C channels and HxW elements in each of them; statistics are (N, group).
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps);

}  // namespace tandem
