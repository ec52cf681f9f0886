// Pooling of floating dtypes. All tensors of a call are (planes, H, W), contiguous, or (N, C, H, W), channels-last.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels {
/// Of a 2-d pooling window, by (height, width).
struct PoolShape {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool count_include_pad;
};
}  // namespace tandem::kernels

/// index, which may be undefined, holds h * W + w of the maximum, -1 where a window holds only padding
TANDEM_KERNEL(void max_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y, Tensor& index))
/// dx[p, index[p, i]] += dy[p, i] over the last two dimensions, nowhere for an index of -1; index and shape as
/// max_pool2d had them
TANDEM_KERNEL(void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape& shape, Tensor& dx))
TANDEM_KERNEL(void avg_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y))
TANDEM_KERNEL(void avg_pool2d_backward(const Tensor& dy, const PoolShape& shape, Tensor& dx))
/// Windows from floor(i H / OH) to ceil((i + 1) H / OH)
TANDEM_KERNEL(void adaptive_avg_pool2d(const Tensor& x, Tensor& y))
TANDEM_KERNEL(void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx))
