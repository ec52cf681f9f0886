// Linear maps: linear.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// y = x W^T + b; x (..., in), weight (out, in), bias (out) or undefined; of one dtype, but the bias may be float32
/// beside half types
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem
