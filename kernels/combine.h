// Kernels of the parallel layer, for every dtype.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels {
enum class Combine { sum, product, max, min };
}

/// y = parts[0] + parts[1] + ... (or product, max, min), rounded after each step, then multiplied by scale unless scale
/// is 1. All tensors are contiguous and have one size, dtype and device; y may be one of the parts
TANDEM_KERNEL(void combine(const std::vector<Tensor>& parts, Combine how, double scale, Tensor& y))
