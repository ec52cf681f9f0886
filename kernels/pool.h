// Pooling of floating dtypes. The tensors of a call are either all (planes, H, W) and contiguous, or all (N, C, H, W)
// and channels-last.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels {
/// 2-d pooling window; each array is (height, width).
struct PoolShape {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool count_include_pad;
};
}  // namespace tandem::kernels

/// Max pooling. index, which may be undefined, receives the position h * W + w of each maximum, or -1 if a window
/// contains only padding
TANDEM_DECLARE_KERNEL(void max_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y, Tensor& index))
/// Computes dx[p, index[p, i]] += dy[p, i] over the last two dimensions; entries with index -1 are skipped. index and
/// shape are as in the call of max_pool2d
TANDEM_DECLARE_KERNEL(void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape& shape,
                                               Tensor& dx))
TANDEM_DECLARE_KERNEL(void avg_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y))
TANDEM_DECLARE_KERNEL(void avg_pool2d_backward(const Tensor& dy, const PoolShape& shape, Tensor& dx))
/// Average pooling to the size of y. Along the height, window i covers rows floor(i H / OH) to ceil((i + 1) H / OH),
/// exclusive; columns likewise
TANDEM_DECLARE_KERNEL(void adaptive_avg_pool2d(const Tensor& x, Tensor& y))
TANDEM_DECLARE_KERNEL(void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx))
