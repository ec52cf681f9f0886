// Normal and log-normal numbers: normal, normal_, log_normal, log_normal_. Parameters that are tensors get a gradient
// of zero, as in PyTorch: to differentiate by them write mean + std * randn_like(mean).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normal numbers; mean and std broadcast.
Tensor normal(const Tensor& mean, double std = 1);
Tensor normal(double mean, const Tensor& std);
Tensor normal(const Tensor& mean, const Tensor& std);
Tensor normal(double mean, double std, IntArrayRef sizes, const TensorOptions& options = {});
// Of x's shape and dtype; the method of this name with a _ at its end draws into x itself.

/// e^z with z normal, of this mean and deviation.
Tensor log_normal(const Tensor& x, double mean = 1, double std = 2);

}  // namespace tandem
