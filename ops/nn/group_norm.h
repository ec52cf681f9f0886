// Group normalization: group_norm, native_group_norm. weight and bias are (C) or undefined.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalizes each of num_groups groups of channels in each sample of x (N, C, ...).
/// @throws Error unless num_groups divides C
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// ---- LibTorch's signatures; the last argument, whether cuDNN may be used, has no effect
inline Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps,
                         bool /*cudnn_enabled*/) {
  return group_norm(x, num_groups, weight, bias, eps);
}
/// Returns (y, mean, 1 / standard deviation). The statistics (N, group) have no gradient. x has N samples, C channels
/// and HxW elements in each channel.
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps);

}  // namespace tandem
