// Linear maps: linear, bilinear.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns y = x W^T + b for x (..., in), weight (out, in) and bias (out) or undefined. All have one dtype, but with
/// half types the bias may be float32.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem

namespace tandem::nn::functional {

/// Returns x1 weight[o] x2 + bias[o] for each o: x1 (..., I), x2 (..., J), weight (O, I, J) -> (..., O). @throws Error
/// unless x1 and x2 have equal sizes in all dimensions but the last
Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem::nn::functional
