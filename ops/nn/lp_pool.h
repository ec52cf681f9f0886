// Power-average pooling: lp_pool1d, lp_pool2d, lp_pool3d. nn/pooling.h adds the option structs.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem::detail {

/// Returns (sum x^norm_type)^(1 / norm_type) of each window. If the sum is 0, the gradient is not finite.
Tensor lp_pool1d(const Tensor& x, double norm_type, int64_t kernel_size, int64_t stride, bool ceil_mode);
Tensor lp_pool2d(const Tensor& x, double norm_type, Pair kernel_size, Pair stride, bool ceil_mode);
Tensor lp_pool3d(const Tensor& x, double norm_type, Triple kernel_size, Triple stride, bool ceil_mode);

}  // namespace tandem::detail
