// Normalisation of the channels of each sample: instance_norm. weight and bias are (C) or undefined.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalises each channel of each sample of x (N, C, ...) by its own statistics, of which the running ones, if
/// defined, take the mean over the samples; or, without use_input_stats, by the running ones.
Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, detail::Flag use_input_stats, double momentum, double eps);

// ---- LibTorch's forms with a last argument that says whether cuDNN may be used, which changes nothing
inline Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                            const Tensor& running_var, detail::Flag use_input_stats, double momentum, double eps,
                            bool /*cudnn_enabled*/) {
  return instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps);
}

}  // namespace tandem
