// Normal and log-normal numbers: normal, normal_, log_normal, log_normal_. Tensor parameters get a gradient of zero, as
// in PyTorch. For a gradient, write mean + std * randn_like(mean).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns normally distributed numbers. mean and std broadcast.
Tensor normal(const Tensor& mean, double std = 1);
Tensor normal(double mean, const Tensor& std);
Tensor normal(const Tensor& mean, const Tensor& std);
Tensor normal(double mean, double std, IntArrayRef sizes, const TensorOptions& options = {});
// The result has x's shape and dtype. The method log_normal_ writes into x itself.

/// Returns e^z, where z is normally distributed with this mean and standard deviation.
Tensor log_normal(const Tensor& x, double mean = 1, double std = 2);

}  // namespace tandem
