// Normalization over the last dimensions: layer_norm, native_layer_norm, rms_norm.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalizes over the last dimensions, whose sizes must be normalized_shape. See batch_norm for the precision.
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// Returns x / sqrt(mean(x^2) + eps) weight, where the mean is over the last dimensions, whose sizes must be
/// normalized_shape (Zhang and Sennrich 2019, arXiv:1910.07467). eps defaults to the machine epsilon of the dtype of
/// the computation. Half types are computed in float32, and squares are summed in double on every device.
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// ---- LibTorch's signatures; the last argument, whether cuDNN may be used, has no effect
inline Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                         double eps, bool /*cudnn_enable*/) {
  return layer_norm(x, normalized_shape, weight, bias, eps);
}
/// Returns (y, mean, 1 / standard deviation). The statistics have no gradient.
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, IntArrayRef normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps);

}  // namespace tandem
