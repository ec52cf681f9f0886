// Normalisation. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalises each channel of x (N, C, ...). In training the batch's statistics are used, and running ones updated:
/// running = (1 - momentum) running + momentum batch, with the unbiased variance. Otherwise the running ones are used.
/// Channels-last x gives a channels-last result.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, detail::Flag training, double momentum = 0.1, double eps = 1e-5);
/// Normalises over the last dimensions, whose sizes are normalized_shape
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
/// in float32.
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

}  // namespace tandem
