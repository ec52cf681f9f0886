// Convolution and its gradients.
#pragma once
#include "tandem/ops/pair.h"

namespace tandem {

/// 2-d cross-correlation. x (N, C, H, W), weight (O, C / groups, KH, KW), bias (O) or undefined -> (N, O, OH, OW) with
/// OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Pair stride = 1, Pair padding = 0,
              Pair dilation = 1, int64_t groups = 1);
/// Its gradients, ops themselves.
Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups);
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups);

}  // namespace tandem
