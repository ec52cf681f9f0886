// Instance normalization: instance_norm. weight and bias are (C) or undefined.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalizes each channel of each sample of x (N, C, ...). With use_input_stats, uses the channel's own statistics,
/// and moves the running statistics, if defined, towards their mean over the samples. Otherwise uses the running
/// statistics.
Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, detail::Flag use_input_stats, double momentum, double eps);

// ---- LibTorch's signatures; the last argument, whether cuDNN may be used, has no effect
inline Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                            const Tensor& running_var, detail::Flag use_input_stats, double momentum, double eps,
                            bool /*cudnn_enabled*/) {
  return instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps);
}

}  // namespace tandem
