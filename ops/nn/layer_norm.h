// Normalisation over the last dimensions: layer_norm, native_layer_norm, rms_norm.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalises over the last dimensions, whose sizes are normalized_shape. Precision: see batch_norm.
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// x / sqrt(mean x^2 + eps) weight over the last dimensions, whose sizes are normalized_shape (Zhang and Sennrich 2019,
/// arXiv:1910.07467). eps: unless given, the distance from 1 to the next number of x's dtype. Half types are computed
/// in float32, and squares are summed in double on every device.
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// ---- LibTorch's forms with a last argument that says whether cuDNN may be used, which changes nothing
inline Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                         double eps, bool /*cudnn_enable*/) {
  return layer_norm(x, normalized_shape, weight, bias, eps);
}
/// (y, mean, 1 / deviation): the statistics that the normalisation is made by, which have no gradient of their own.
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, IntArrayRef normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps);

}  // namespace tandem
