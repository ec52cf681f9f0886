// Declares the kernel that combines tensors of several ranks or devices element by element, for every dtype.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels {
enum class CombineOp { sum, product, max, min };
}

/// Computes y = parts[0] + parts[1] + ... (or the product, maximum or minimum), rounded after each step, and multiplies
/// y by `scale` unless scale is 1. All tensors are contiguous and have the same size, dtype and device; y may be one of
/// the parts
TANDEM_DECLARE_KERNEL(void combine(const std::vector<Tensor>& parts, CombineOp how, double scale, Tensor& y))
