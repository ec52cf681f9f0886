// Linear maps: linear, bilinear.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// y = x W^T + b; x (..., in), weight (out, in), bias (out) or undefined; of one dtype, but the bias may be float32
/// beside half types
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem

namespace tandem::nn::functional {

/// x1 (..., I), x2 (..., J), weight (O, I, J) -> (..., O): x1 weight[o] x2 + bias[o].
/// @throws Error unless all but the last dimensions agree
Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem::nn::functional
