// Convolution and its gradients.
#pragma once
#include "tandem/ops/pair.h"

namespace tandem {

/// 2-d cross-correlation. x (N, C, H, W), weight (O, C / groups, KH, KW), bias (O) or undefined -> (N, O, OH, OW) with
/// OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1. The result, like the gradients, is channels-last if x or
/// weight suggests that (Tensor::suggest_memory_format), and what does not lie so is copied; else it is row-major.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Pair stride = 1,
              detail::Pair padding = 0, detail::Pair dilation = 1, int64_t groups = 1);

}  // namespace tandem
